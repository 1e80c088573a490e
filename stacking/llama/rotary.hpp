// Rotary position embedding: dimension pair i at position p is rotated by p / base^(2i / width).
// Invariant: the bits are the same on every machine. Angles are fp32 products, as in the reference;
// their sines are computed here, because those of libm differ between processors.
// Threading: const and any thread. Errors: none; the width must be even. Cost: O(width) per
// position.
// Source: RoFormer (arXiv 2104.09864) section 3.4, in the rotate-half order of transformers.
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

/// REQUIRES: 0 <= angle < 2^24, in radians. The error is below 1e-9, and far less for small angles.
SineCosine sine_cosine(double angle);

class Rotary {
 public:
    Rotary(double base, std::size_t head_width);

    /// Writes the cosines and sines of one position, (width / 2) each.
    void angles(std::uint32_t position, std::span<float> cosines, std::span<float> sines) const;

    /// Rotates one head, (width), in place.
    static void rotate(
        std::span<float> head, std::span<const float> cosines, std::span<const float> sines
    );

 private:
    std::vector<float> frequencies_;  // (width / 2)
};

}  // namespace stacking::llama
