// Loads libswarm_torch.so, and with it LibTorch, when a run needs it first. LibTorch takes half a
// second to load and a hundred megabytes; most verbs, and peers that serve models of others, never
// use it. The functions do what those of their names do in stages/torch/make_llama.hpp and
// library_info.hpp.
// Threading: any thread. Cost: the first call loads files, several seconds from a cold disk, so a
// process with an event loop calls load() before it.
// Errors: those of the functions; before, Unsupported (Reject): the library is not there, one that
// it needs is not, or it is of another build.
#pragma once

#include "stages/compute/compute.hpp"
#include "swarm/base/result.hpp"
#include "swarm/run/config.hpp"
#include "swarm/run/partition.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace stages::torch_library {

/// Loads the library unless it is loaded. Once loaded it stays.
Result<> load();

Result<std::unique_ptr<StageCompute>> make_llama_compute(
    const swarm::run::RunConfig& config,
    const swarm::run::StageLayout& layout,
    std::string_view device,
    std::uint32_t threads
);

Result<std::string> library_info();

Result<std::string> first_gpu();

}  // namespace stages::torch_library
