// Rotary position embedding: the angle of dimension pair i at position p is p /
// base^(2i / width). Invariant: the same bits on every machine. Angles are fp32
// products, as in the reference; their sines are our own, because libm's differ
// between processors. Threading: const and any thread. Errors: none; width is
// even. Source: RoFormer (arXiv 2104.09864) section 3.4, in the rotate-half
// order of transformers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stacking::llama {

struct SineCosine {
    double sine = 0;
    double cosine = 1;
};

/// 0 <= angle < 2^24, in radians. The error is below 1e-9, far less for small
/// angles.
SineCosine sine_cosine(double angle);

class Rotary {
 public:
    Rotary(double base, std::size_t head_width);

    /// Of one position: (width / 2) each.
    void angles(std::uint32_t position, std::span<float> cosines, std::span<float> sines) const;

    /// One head, (width), in place.
    static void rotate(
        std::span<float> head, std::span<const float> cosines, std::span<const float> sines
    );

 private:
    std::vector<float> frequencies_;  // (width / 2)
};

}  // namespace stacking::llama
