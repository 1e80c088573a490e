// A pipeline of one peer per stage in a sim::World with a textbook schedule. Machines, lines and
// frames are the simulator's own; the roles know only the order of their work.
// GPipe: all forwards of a step, then all backwards. 1F1B: a backward goes first, and stage s has
// at most S - s microbatches between their forward and their backward.
// Units: a device does one work unit per second; bytes stand for tensors of that size.
#pragma once

#include "sim/world.hpp"

#include <cstdint>

namespace sim::golden {

enum class Order { GPipe, OneForwardOneBackward };

struct PipelineOptions {
    std::uint32_t stages = 4;
    std::uint32_t microbatches = 8;
    Order order = Order::GPipe;
    double forward_s = 1;
    double backward_s = 2;
    std::uint64_t tensor_bytes = 0;
    std::uint64_t line_bytes_per_s = 0;  // each peer's line in each direction; 0: unlimited
    Duration latency{};
};

struct PipelineOutcome {
    double step_s = 0;            // time from the first forward's start to the last backward's end
    double busy_s = 0;            // busy time of all devices
    double bubble = 0;            // part of the devices' time in which they wait
    std::uint32_t most_held = 0;  // microbatches between forward and backward, at stage 0
};

/// Runs one step.
PipelineOutcome run_pipeline(const PipelineOptions& options);

}  // namespace sim::golden
