// Picks the model side of a stage by the run's configuration: the oracle model, or Llama on
// LibTorch where this build has it.
// Errors: Unsupported (no LibTorch in this build, no such device), Usage (device name); Reject.
#pragma once

#include "stages/joining.hpp"

#include <string>

namespace swarm::cli {

stages::ComputeFactory make_compute_factory(std::string device);

}  // namespace swarm::cli
