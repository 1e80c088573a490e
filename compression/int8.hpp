// Codec "int8": groups of 64 values share one fp32 scale; each value is one signed byte.
// Bytes: per group the scale (4, little-endian), then a byte per value; the last group is shorter
// when 64 does not divide n. Size: n + 4 * ceil(n / 64), so 3.76 times smaller than fp32.
// Scale: the smallest fp32 of 17 significant bits with |x| <= 127 * scale, at least 2^-126, at most
// kInt8ScaleMax; 0 for a group of (nearly) zeros (simd/group_scale.hpp).
// Error: |x - decoded| <= kInt8ErrorFactor * scale (int8_error_bound); nearest rounding, no seed.
// Errors: as Codec; Malformed: size, scale, byte -128. Source: own.
#pragma once

#include "compression/codec.hpp"

namespace compression {

inline constexpr std::size_t kInt8Group = simd::kGroup;

/// Largest 17-bit scale whose 127-fold is finite: below it nothing decodes to infinity.
inline constexpr float kInt8ScaleMax = 0x1.0204p+121F;

/// Half a step, plus the error of fp32 in x * (1 / scale) near a tie.
inline constexpr float kInt8ErrorFactor = 0.5F + 0x1p-15F;

std::unique_ptr<const Codec> make_int8(const simd::Kernels& kernels);

/// The scale that encode() writes for a group whose largest magnitude is `largest`, finite.
float int8_scale(float largest);
/// Largest |x - decode(encode(x))| within a group whose largest magnitude is `largest`.
float int8_error_bound(float largest);

}  // namespace compression
