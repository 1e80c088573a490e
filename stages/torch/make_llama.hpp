// Makes the Llama stage on LibTorch without showing LibTorch. The rest of the program reaches it
// through stages/torch/library/torch_library.hpp, which loads this folder as a shared library.
// Devices: "cpu", "cuda:N" (needs libswarm_cuda.so and a GPU), "auto" (cuda:0 where that works,
// else cpu).
// Threading: the stage belongs to the thread that calls it first; see stages/compute/compute.hpp.
// On a CPU, LibTorch splits each operation over `threads` threads of its own, the same way each
// time. So the bits depend on their number, and compute_class() names it.
// Errors: Usage (device name; threads that the environment forbids; documents are to be separated
// and their end is not known), Unsupported (no CUDA backend, no such GPU), Mismatch (the layout is
// not this model's); all Reject. Unsupported is Fatal when LibTorch itself fails.
#pragma once

#include "stages/compute/compute.hpp"
#include "swarm/base/result.hpp"
#include "swarm/run/config.hpp"
#include "swarm/run/partition.hpp"

#include <cstdint>
#include <memory>
#include <string_view>

namespace stages::torch_backend {

Result<std::unique_ptr<StageCompute>> make_llama_compute(
    const swarm::run::RunConfig& config,
    const swarm::run::StageLayout& layout,
    std::string_view device = "cpu",
    std::uint32_t threads = 1
);

}  // namespace stages::torch_backend
