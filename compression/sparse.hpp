// Codec "sparse" keeps the 64 largest magnitudes of each chunk of 4,096 values, with 12 bits of
// place and 2 bits of value each; all others become 0. It codes pseudo-gradients alone: the caller
// must keep the dropped values in an error buffer (stages/worker/sparse_sync).
// Bytes: chunk size and kept (u16 each), then per chunk: low, high (bf16), the places in ascending
// order (12 bits each), the codes (2 bits each). A last chunk of m < 4,096 values keeps ceil(m /
// 64); n values take 4 + 116 n / 4,096 bytes, about 141 times fewer than fp32.
// Value: bit 0 of the code chooses low or high, bit 1 the sign. Low and high are the means of the
// kept magnitudes below the mean of all, and from it on. Ties go to the smaller place: one result
// anywhere.
// Error: a dropped value loses itself, a kept one at most sparse_error_bound. Magnitudes below
// 2^-126 count as 0. Errors: the same as Codec's. Cost: one selection per chunk, linear.
// Source: SparseLoCo (arXiv 2508.15706); its values lie around a mean of signed ones, ours do not.
#pragma once

#include "compression/codec.hpp"

namespace compression {

inline constexpr std::size_t kSparseChunk = 4096;
inline constexpr std::size_t kSparseKept = 64;

std::unique_ptr<const Codec> make_sparse(const simd::Kernels& kernels);

/// Error bound of a value that is kept, in a chunk whose kept magnitudes reach from `smallest` to
/// `largest`.
float sparse_error_bound(float smallest, float largest);

}  // namespace compression
