#include "stages/torch/library/entry.hpp"
#include "stages/torch/library_info.hpp"
#include "stages/torch/make_llama.hpp"

extern "C" __attribute__((visibility("default"))) const stages::torch_library::Entry*
swarm_torch_library() {
    static const stages::torch_library::Entry entry{
        .make_llama_compute = stages::torch_backend::make_llama_compute,
        .library_info = stages::torch_backend::library_info,
        .first_gpu = stages::torch_backend::first_gpu,
    };
    return &entry;
}
