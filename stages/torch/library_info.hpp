// What LibTorch this program has, in words: for people who ask what they run.
// Threading: any thread. Errors: those of open_cuda_device. Cost: asking for a GPU loads CUDA.
#pragma once

#include "swarm/base/result.hpp"

#include <string>

namespace stages::torch_backend {

/// "LibTorch 2.11.0, BLAS mkl, AVX512, 2 threads"
std::string library_info();

/// The name of the first GPU that a run could use here; why there is none.
swarm::Result<std::string> first_gpu();

}  // namespace stages::torch_backend
