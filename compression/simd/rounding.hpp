// Rounding of one value, to integers and to 16 bits, for the scalar path and the GPU's lanes.
// Invariant: IEEE fp32, default rounding; constexpr, so that the same text serves both. Every
// vector path repeats it operation by operation.
// Source: own.
#pragma once

#include "compression/simd/group_scale.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace compression::simd {

/// Adding 1.5 * 2^23 rounds to the nearest integer (ties to even) into the low bits.
inline constexpr float kRounder = 12582912.0F;
inline constexpr float kFp16Max = 65504.0F;
inline constexpr std::uint32_t kFp16SmallestNormalBits = 0x38800000;  // 2^-14 as fp32
inline constexpr std::uint32_t kFp16ExponentOffset = 0x38000000;      // 112 << 23
inline constexpr std::uint32_t kSignBit = 0x80000000;
inline constexpr std::uint32_t kQuietBit = 0x00400000;

constexpr std::int32_t nearest_integer(float value) {
    return static_cast<std::int32_t>(bits_of(value + kRounder) - bits_of(kRounder));
}

constexpr std::uint16_t to_bf16(float value) {
    const std::uint32_t bits = bits_of(value);
    // Above this, rounding would carry into infinity.
    const std::uint32_t magnitude = std::min(bits & kMagnitudeMask, 0x7f7f7fffU);
    const std::uint32_t rounded = magnitude + 0x7fff + ((magnitude >> 16) & 1);
    return static_cast<std::uint16_t>(((bits & kSignBit) | rounded) >> 16);
}

constexpr std::uint16_t to_fp16(float value) {
    const std::uint32_t bits = bits_of(value);
    const std::uint32_t magnitude = std::min(bits & kMagnitudeMask, bits_of(kFp16Max));
    std::uint32_t half = 0;
    if (magnitude >= kFp16SmallestNormalBits) {
        half = (magnitude - kFp16ExponentOffset + 0xfff + ((magnitude >> 13) & 1)) >> 13;
    } else {
        // fp32 numbers around 0.5 lie 2^-24 apart, as the denormals of fp16 do.
        half = bits_of(std::bit_cast<float>(magnitude) + 0.5F) - bits_of(0.5F);
    }
    return static_cast<std::uint16_t>((bits & kSignBit) >> 16 | half);
}

constexpr float from_fp16(std::uint16_t half) {
    const std::uint32_t sign = std::uint32_t{half} << 16 & kSignBit;
    const std::uint32_t magnitude = half & 0x7fffU;
    std::uint32_t bits = 0;
    if (magnitude >= 0x7c00) {  // infinity; NaN, which comes out quiet as from the processor
        bits = magnitude << 13 | kInfinityBits | (magnitude > 0x7c00 ? kQuietBit : 0);
    } else if (magnitude >= 0x400) {
        bits = (magnitude << 13) + kFp16ExponentOffset;
    } else {
        bits = bits_of(static_cast<float>(magnitude) * 0x1p-24F);
    }
    return std::bit_cast<float>(sign | bits);
}

constexpr float from_bf16(std::uint16_t half) {
    return std::bit_cast<float>(std::uint32_t{half} << 16);
}

}  // namespace compression::simd
