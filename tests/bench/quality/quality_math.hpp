// The arithmetic of the quality bench: curves of a loss and the steps of their points, the time of
// a step on a line, the bytes that replicas send each other, extra steps.
// A step is that of `swarm plan` (run::step_time): peers all alike, on full-duplex lines without
// delay; then, where a stage has several peers, their exchange.
// Invariant: curves are sorted by rising `at`. Units: seconds, bytes, nats. Threading: pure
// functions.
// Cost: O(points).
#pragma once

#include "swarm/run/config.hpp"

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

/// Returns the curve with each point replaced by the mean of itself and of up to `points - 1`
/// points before it.
LossCurve smoothed(const LossCurve& curve, std::size_t points);

/// The mean loss of curves over the same points, as far as the shortest goes.
LossCurve mean_of(std::span<const LossCurve> curves);

/// The loss on the straight line between two points; beyond an end, the loss at that end. REQUIRES:
/// the curve is not empty.
double loss_at(const LossCurve& curve, double at);

/// The place at which the loss first is `loss` or less, on the straight line between two points.
std::optional<double> first_at_or_below(const LossCurve& curve, double loss);

double percent_above(double value, double reference);

/// Whether the weights are tried after `made` steps, at least one, of a run of config.steps: about
/// thirty times, at the last step, and as often beyond it. In mode sparse each trial is moved back
/// to the last exchange, since between two of them no weights are everybody's.
bool is_tried_after(const run::RunConfig& config, std::uint64_t made);

/// One step of a pipeline.
struct LineStep {
    std::uint32_t stages = 1;
    std::uint32_t peers = 1;  // in each stage
    std::uint32_t microbatches = 1;
    double compute_s = 0;  // all stages and microbatches together
    // The bytes of one microbatch, between two stages:
    std::uint64_t forward_bytes = 0;
    std::uint64_t backward_bytes = 0;
    double sync_bytes = 0;        // bytes that each peer sends, and gets, after the last backward
    double line_bytes_per_s = 1;  // the line of each peer, each way
};

double seconds_on_line(const LineStep& step);

/// Bytes that one of a stage's replicas sends per step in mode exact: its sums over the weights
/// that others own, as byte planes where the line is slow, and the values of its own weights to
/// each of the others.
double exact_sync_bytes(std::uint64_t weights, std::uint32_t replicas, double line_bytes_per_s);

/// Bytes that one replica sends per step in mode sparse: a share to each of the others, once in
/// `sync_every` steps.
double sparse_sync_bytes(
    std::uint64_t share_bytes, std::uint32_t replicas, std::uint32_t sync_every
);

}  // namespace swarm::bench
