#include "stages/torch/cuda_backend.hpp"

#include <array>
#include <dlfcn.h>

namespace stages::torch_backend {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;

swarm::Result<std::string> open_cuda_device(int index) {
    const auto unsupported = [&](const std::string& why) {
        return Error{
            ErrorCode::Unsupported,
            Reaction::Reject,
            "no device cuda:" + std::to_string(index) + ": " + why};
    };
    void* const library = dlopen("libswarm_cuda.so", RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
        return unsupported(std::string(dlerror()) + "; build with -DSWARM_WITH_CUDA=ON");
    }
    // POSIX allows that dlsym() returns a function; C++ needs the cast for it.
    using Open = int (*)(int, char*, unsigned long);
    const auto open = reinterpret_cast<Open>(dlsym(library, "swarm_cuda_open"));
    if (open == nullptr) {
        return unsupported("libswarm_cuda.so is of another version; rebuild it");
    }
    std::array<char, 256> text{};
    if (open(index, text.data(), text.size()) != 0) {
        return unsupported(text.data());
    }
    return std::string(text.data());
}

}  // namespace stages::torch_backend
