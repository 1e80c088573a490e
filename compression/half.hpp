// Codecs "bf16" and "fp16": 2 bytes per value, little-endian, rounded to nearest, ties to even.
// bf16 keeps fp32's range: |x - decoded| <= 2^-8 |x|, or 2^-134 below 2^-126. A value that would
// round to infinity becomes the largest finite number.
// fp16: |x - decoded| <= 2^-11 |x|, or 2^-25 below 2^-14; magnitudes above 65,504 become 65,504.
// fp16 refuses weight gradients and pseudo-gradients, which mostly lie below its range.
// Errors: the same as Codec's; NotFinite also for bytes that mean NaN or infinity. Source: IEEE 754
// binary16.
#pragma once

#include "compression/codec.hpp"

namespace compression {

inline constexpr float kFp16Max = 65504.0F;

std::unique_ptr<const Codec> make_bf16(const simd::Kernels& kernels);
std::unique_ptr<const Codec> make_fp16(const simd::Kernels& kernels);

}  // namespace compression
