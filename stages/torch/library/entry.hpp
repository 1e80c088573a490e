// The table of functions that libswarm_torch.so shows, behind a C name that dlsym() finds. Program
// and library are built together, since the types that pass between them are C++ ones; `build`
// tells them apart where they were not. Threading, errors and cost: see torch_library.hpp.
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

inline constexpr const char* kFile = "libswarm_torch.so";
inline constexpr const char* kEntryName = "swarm_torch_library";

/// Differs where the program and the library disagree about a type that they share.
inline constexpr std::uint64_t kBuild = (sizeof(swarm::run::RunConfig) << 32U) +
                                        (sizeof(swarm::run::StageLayout) << 16U) +
                                        sizeof(StageCompute::TailOutput);

struct Entry {
    std::uint64_t build = kBuild;
    swarm::Result<std::unique_ptr<StageCompute>> (*make_llama_compute
    )(const swarm::run::RunConfig&,
      const swarm::run::StageLayout&,
      std::string_view device,
      std::uint32_t threads) = nullptr;
    std::string (*library_info)() = nullptr;
    swarm::Result<std::string> (*first_gpu)() = nullptr;
};

}  // namespace stages::torch_library
