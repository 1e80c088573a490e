// Loads CUDA's half of LibTorch when a cuda device is asked for, and not before: linked in, it
// costs 440 MB and one to three seconds at every start.
// libswarm_cuda.so (built with -DSWARM_WITH_CUDA=ON) is looked for as the system looks for any
// library: the program's run path, LD_LIBRARY_PATH, the system folders. It stays loaded.
// Errors: Unsupported (Reject), one line.
#pragma once

#include "swarm/base/result.hpp"

#include <string>

namespace stages::torch_backend {

/// The name of GPU `index`, after which LibTorch can compute on it.
swarm::Result<std::string> open_cuda_device(int index);

}  // namespace stages::torch_backend
