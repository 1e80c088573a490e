// Codec "sparse": of each chunk of 4,096 values the 64 of the largest magnitude, 12 bits of place
// and 2 bits of value each; all others become 0. For pseudo-gradients alone: what is dropped must
// stay in an error buffer (stages/sparse_sync).
// Bytes: chunk size and kept (u16 each), then per chunk: low, high (bf16), the places in ascending
// order (12 bits each), the codes (2 bits each). A chunk of m < 4,096 values, the last one, keeps
// ceil(m / 64); n values take 4 + 116 n / 4,096 bytes, about 141 times fewer than fp32.
// Value: bit 0 of the code chooses low or high, bit 1 the sign. They are the means of the kept
// magnitudes below and from the mean of all on. Ties go to the smaller place: one result anywhere.
// Error: what is not kept loses itself, what is kept at most sparse_error_bound. Magnitudes below
// 2^-126 count as 0. Errors: as Codec. Cost: one selection per chunk, linear.
// Source: SparseLoCo (arXiv 2508.15706); its values lie around a mean of signed ones, ours do not.
#pragma once

#include "compression/codec.hpp"

namespace compression {

inline constexpr std::size_t kSparseChunk = 4096;
inline constexpr std::size_t kSparseKept = 64;

std::unique_ptr<const Codec> make_sparse(const simd::Kernels& kernels);

/// Of a value that is kept, in a chunk whose kept magnitudes reach from `smallest` to `largest`.
float sparse_error_bound(float smallest, float largest);

}  // namespace compression
