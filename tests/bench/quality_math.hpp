// The arithmetic of the quality bench: curves of a loss, what a step takes on a line, extra steps.
// A step is that of `swarm plan` (run::step_time): one peer per stage, all alike, on full-duplex
// lines without delay.
// Invariant: curves are by rising `at`. Units: seconds, bytes, nats. Threading: pure functions.
// Cost: O(points).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace swarm::bench {

struct LossPoint {
    double at = 0;  // steps, or seconds
    double loss = 0;
};

using LossCurve = std::vector<LossPoint>;

/// Each point becomes the mean of itself and of up to `points - 1` before it.
LossCurve smoothed(const LossCurve& curve, std::size_t points);

/// The mean loss of curves over the same points, as far as the shortest goes.
LossCurve mean_of(std::span<const LossCurve> curves);

/// On the straight line between two points; the end's own beyond an end. The curve is not empty.
double loss_at(const LossCurve& curve, double at);

/// Where the loss first is `loss` or less, on the straight line between two points.
std::optional<double> first_at_or_below(const LossCurve& curve, double loss);

double percent_above(double value, double reference);

/// One step of a pipeline.
struct LineStep {
    std::uint32_t stages = 1;
    std::uint32_t microbatches = 1;
    double compute_s = 0;  // of all stages and microbatches together
    // Of one microbatch, between two stages:
    std::uint64_t forward_bytes = 0;
    std::uint64_t backward_bytes = 0;
    double line_bytes_per_s = 1;  // of each peer, each way
};

double seconds_on_line(const LineStep& step);

}  // namespace swarm::bench
