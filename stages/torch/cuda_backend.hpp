// Loads the CUDA part of LibTorch when a cuda device is asked for, and not before: linked in, it
// costs 440 MB and one to three seconds at every start.
// libswarm_cuda.so (built with -DSWARM_WITH_CUDA=ON) is looked for as the system looks for any
// library: the program's run path, LD_LIBRARY_PATH, the system folders. It stays loaded.
// Threading: any thread. Errors: Unsupported (Reject) with a text of one line: the caller names
// another device.
#pragma once

#include "swarm/base/result.hpp"

#include <string>

namespace stages::torch_backend {

/// Opens GPU `index` and returns its name; then LibTorch can compute on it.
swarm::Result<std::string> open_cuda_device(int index);

}  // namespace stages::torch_backend
