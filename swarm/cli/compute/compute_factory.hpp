// Picks the model of a stage by the run's configuration: the oracle model, or Llama on LibTorch
// where LibTorch is there.
// Errors: Unsupported (no LibTorch, no such device), Usage (device name); Reject. Cost: the first
// Llama of a process loads LibTorch (stages/torch/library/torch_library.hpp).
#pragma once

#include "stages/server/joining.hpp"

#include <cstdint>
#include <string>

namespace swarm::cli {

/// `device`: auto, cpu or cuda:N. `threads`: those of LibTorch on a CPU; the bits of a Llama depend
/// on their number.
stages::ComputeFactory make_compute_factory(std::string device, std::uint32_t threads);

}  // namespace swarm::cli
