// Measures every codec on the first GPU: kernels alone, on made-up values, means of a row of
// launches.
// Unit: time on the GPU, relative to a copy of the same fp32 tensor within its memory, and to an
// empty kernel. Errors: no GPU, or a CUDA error.
#pragma once

#include "tests/bench/codec.hpp"

namespace swarm::bench {

inline constexpr std::size_t kGpuCodecBytes[] = {4U << 20, 64U << 20, 256U << 20};

struct GpuCodecRow {
    CodecRow row;                // path "cuda"; memcpy is the copy on the GPU
    double encode_launches = 0;  // time of encode, in empty kernels
};

Result<std::vector<GpuCodecRow>> measure_gpu_codecs(std::size_t rounds);

}  // namespace swarm::bench
