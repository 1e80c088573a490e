// Rotary position embedding: dimension pair i at position p is rotated by p x frequency i, which is
// 1 / base^(2i / width) in a plain Llama and is changed by a RopeScaling.
// Invariant: the bits are the same on every machine. Angles are fp32 products, as in the reference;
// their sines are computed here, because those of libm differ between processors.
// Threading: const and any thread. Errors: none; the width must be even. Cost: O(width) per
// position.
// Source: RoFormer (arXiv 2104.09864) section 3.4, in the rotate-half order of transformers; the
// scalings are those of its modeling_rope_utils.py.
#pragma once

#include "stacking/models/traits.hpp"

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
    /// `width`: dimensions of a head that are rotated.
    Rotary(double base, std::size_t width, const models::RopeScaling& scaling = {});

    [[nodiscard]] std::size_t width() const { return 2 * frequencies_.size(); }

    /// Writes the cosines and sines of one position, (width / 2) each.
    void angles(std::uint32_t position, std::span<float> cosines, std::span<float> sines) const;

    /// Rotates the first dimensions of one head, in place: twice as many as there are cosines.
    static void rotate(
        std::span<float> head, std::span<const float> cosines, std::span<const float> sines
    );

 private:
    std::vector<float> frequencies_;  // (width / 2)
    double magnitude_;
};

}  // namespace stacking::llama
