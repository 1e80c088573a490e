// How long a step of a pipeline takes: the one model that `swarm plan`, the choice of codecs and
// the quality bench go by.
// Model: devices and lines work at the same time. Each peer has one line, full duplex: what it
// sends to the stages above and below goes out one after the other, and so does what comes in. The
// busiest of all devices and lines sets the rate; to its microbatches comes the way of one through
// everything else, since a step ends with an empty pipeline. At best: where peers share a stage,
// microbatches wait behind others now and then. Not in it: reductions, churn.
// Units: seconds. Threading: a pure function. Cost: O(stages).
// Source: GPipe (arXiv 1811.06965) section 2.3 for the bubble; lines that work beside the devices
// are ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace swarm::run {

/// What one microbatch costs one of the stage's peers.
struct StageTime {
    double peers = 1;
    double compute_s = 0;      // forward and backward
    double to_next_s = 0;      // its activation on the line, alone
    double to_previous_s = 0;  // its gradient
};

enum class Busiest : std::uint8_t { Device, Line, Window };

struct StepTime {
    double step_s = 0;
    double bubble_s = 0;  // of it, while the busiest part waits for the first and after the last
    Busiest busiest = Busiest::Device;
    std::size_t stage = 0;  // whose device or lines; means nothing with Window
};

/// There are stages. `in_flight`: microbatches under way at once, at least 1. `latency_s`: one way.
StepTime step_time(
    const std::vector<StageTime>& stages,
    std::uint32_t microbatches,
    std::uint32_t in_flight,
    double latency_s = 0
);

}  // namespace swarm::run
