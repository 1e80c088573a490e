// Says in words which LibTorch this program has, for people who ask what they run.
// Threading: any thread. Errors: those of open_cuda_device(). Cost: asking for a GPU loads CUDA.
#pragma once

#include "swarm/base/result.hpp"

#include <string>

namespace stages::torch_backend {

/// Returns a text such as "LibTorch 2.11.0, BLAS mkl, AVX512, 2 threads".
std::string library_info();

/// Returns the name of the first GPU that a run could use here. The error says why there is none.
swarm::Result<std::string> first_gpu();

}  // namespace stages::torch_backend
