// Predicts the time of a pipeline's step for `swarm plan`, the choice of codecs and the quality
// bench.
// Model: devices and lines work at the same time. Each peer has one full duplex line, on which
// tensors for the stages above and below leave one after the other, and arrive so, too. The busiest
// of all devices and lines sets the rate. A step ends with an empty pipeline, so the way of one
// microbatch through everything else comes on top. The prediction is a best case: where peers share
// a stage, microbatches wait behind others now and then. It leaves out churn. The time in which the
// replicas of a stage become one again is told by sync_bytes(), for whoever adds it.
// Units: seconds. Threading: pure. Cost: O(stages).
// Source: GPipe (arXiv 1811.06965) section 2.3 for the bubble; lines that work beside the devices
// are ours.
#pragma once

#include "swarm/run/choices.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace swarm::run {

/// The time of one microbatch at one peer of the stage.
struct StageTime {
    double peers = 1;
    double compute_s = 0;      // forward and backward
    double to_next_s = 0;      // the activation on an idle line
    double to_previous_s = 0;  // the gradient on an idle line
};

enum class Busiest : std::uint8_t { Device, Line, Window };

struct StepTime {
    double step_s = 0;
    double bubble_s = 0;  // the part of step_s in which the busiest device or line has no work
    Busiest busiest = Busiest::Device;
    std::size_t stage = 0;  // the stage of the busiest device or line; unused with Window
};

/// Requires at least one stage. `in_flight` is the number of microbatches under way at once, at
/// least 1. `latency_s` counts one way.
StepTime step_time(
    const std::vector<StageTime>& stages,
    std::uint32_t microbatches,
    std::uint32_t in_flight,
    double latency_s = 0
);

/// Parts of a reduction's sums travel raw on faster lines (stages/server/reduction.hpp).
inline constexpr double kRawSumsAboveBytesPerS = 250e6;
/// Bytes of a sum as byte planes: measured with gradients of the demo model by
/// tests/torch/reduce_parts_test.
inline constexpr double kPackedSumBytes = 3.3;

/// Bytes of one sum on a line of this rate; 0: a line without bound.
double bytes_of_sum(double line_bytes_per_s);

/// Bytes of one replica's share of an exchange in mode sparse, for a stage of so many parameters.
std::uint64_t bytes_of_share(std::uint64_t parameters);

/// Bytes that each of a stage's replicas sends, and gets, when they become one again: in mode exact
/// its sums of the parameters that the others own and the values of its own, in mode sparse its
/// share. A stage with one replica sends none.
double sync_bytes(
    SyncMode mode, std::uint64_t parameters, std::uint32_t replicas, double line_bytes_per_s
);

}  // namespace swarm::run
