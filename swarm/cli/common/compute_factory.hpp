// Picks the model of a stage by the run's configuration: the oracle model, or Llama on LibTorch
// where this build has LibTorch.
// Errors: Unsupported (no LibTorch in this build, no such device), Usage (device name); Reject.
#pragma once

#include "stages/server/joining.hpp"

#include <string>

namespace swarm::cli {

/// `device`: auto, cpu or cuda:N.
stages::ComputeFactory make_compute_factory(std::string device);

}  // namespace swarm::cli
