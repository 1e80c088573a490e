// The scale that the values of a group share: the smallest number of few significant bits with
// largest |x| <= levels * scale. Few bits, so that level * scale is exact in fp32: decoding then
// is one multiplication without rounding, and encoding what was decoded changes nothing.
// Invariant: 0, or between kScaleMin and rule.max; levels * max is finite.
// Every vector path repeats scale_of() operation by operation; being constexpr, it serves kernels
// of GPUs as it is. Source: own.
#pragma once

#include <bit>
#include <cstdint>

namespace compression::simd {

struct ScaleRule {
    float levels;               // the largest level
    std::uint32_t unused_bits;  // fp32 mantissa bits that the scale leaves 0
    float max;
};

/// 17 significant bits. The largest such scale whose 127-fold is finite.
inline constexpr ScaleRule kInt8Rule{127.0F, 0x7f, 0x1.0204p+121F};
/// 8 significant bits: bf16. The largest such scale whose 7-fold is finite.
inline constexpr ScaleRule kInt4Rule{7.0F, 0xffff, 0x1.24p+125F};

/// Smallest normal number: a smaller scale would depend on whether denormals are flushed.
inline constexpr float kScaleMin = 0x1p-126F;
/// A group whose largest magnitude is at most this becomes zeros, the nearest values with the least
/// scale.
inline constexpr float kZeroMax = kScaleMin / 2;

inline constexpr std::uint32_t kMagnitudeMask = 0x7fffffff;
inline constexpr std::uint32_t kInfinityBits = 0x7f800000;

/// Takes its argument by value: kernels cannot take the address of a constant of the host, as
/// std::bit_cast and std::clamp do.
constexpr std::uint32_t bits_of(float value) {
    return std::bit_cast<std::uint32_t>(value);
}

/// `largest` is finite and not negative.
constexpr float scale_of(ScaleRule rule, float largest) {
    if (largest <= kZeroMax) {
        return 0;
    }
    std::uint32_t bits = bits_of(largest / rule.levels);
    bits = (bits + rule.unused_bits) & ~rule.unused_bits;
    float scale = std::bit_cast<float>(bits);
    if (scale < rule.max && rule.levels * scale < largest) {
        scale = std::bit_cast<float>(bits + rule.unused_bits + 1);  // the division rounded down
    }
    scale = scale < kScaleMin ? kScaleMin : scale;
    return scale > rule.max ? rule.max : scale;
}

constexpr float inverse_of(float scale) {
    return scale > 0 ? 1.0F / scale : 0.0F;
}

/// Whether scale_of() may have given the number with these bits.
constexpr bool is_scale(std::uint32_t bits, std::uint32_t unused_bits, float max) {
    return bits == 0 ||
           (bits >= bits_of(kScaleMin) && bits <= bits_of(max) && (bits & unused_bits) == 0);
}

/// Largest magnitude that hadamard-int4 takes, and its largest scale: a coefficient is at most 8
/// such values.
inline constexpr float kHadamardMax = 0x1p+112F;
inline constexpr float kHadamardScaleMax = scale_of(kInt4Rule, 8 * kHadamardMax);

}  // namespace compression::simd
