// Codecs "int4" and "hadamard-int4": groups of 64 values share one bf16 scale; a value is 4 bits.
// Bytes: per group the scale (2, little-endian), then a byte per two values, the first in the low
// nibble, two's complement, -7 to 7. int4: the last group is shorter; the unused nibble of an odd
// one is 0; n / 2 + 2 * ceil(n / 64) bytes, so 7.5 times smaller than fp32. hadamard-int4: a group
// is transformed first (orthonormal Walsh-Hadamard), which spreads an outlier over all 64; the last
// group is filled with zeros: 34 * ceil(n / 64) bytes.
// Rounding: gradients go up or down by draws of (seed, index), so that the expected value is x;
// other roles to the nearest. Error: int4_error_bound, hadamard_int4_error_bound. Parameters are
// refused. hadamard-int4 refuses magnitudes above 2^112, whose sums would overflow.
// Errors: as Codec. Source: TAH-Quant (arXiv 2506.01352) for transform and tile; no pivots.
#pragma once

#include "compression/codec.hpp"
#include "compression/simd/group_scale.hpp"

namespace compression {

using simd::kHadamardMax;

std::unique_ptr<const Codec> make_int4(const simd::Kernels& kernels);
std::unique_ptr<const Codec> make_hadamard_int4(const simd::Kernels& kernels);

/// The scale that encode() writes for a group whose largest magnitude is `largest`, finite.
float int4_scale(float largest);
/// Largest |x - decode(encode(x))| within a group whose largest magnitude is `largest`. Half a
/// step, a whole one for gradients.
float int4_error_bound(float largest, TensorRole role);
/// The same bound after the transform; `largest` is the largest magnitude of the group's
/// coefficients.
float hadamard_int4_error_bound(float largest, TensorRole role);

}  // namespace compression
