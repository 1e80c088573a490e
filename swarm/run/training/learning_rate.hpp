// The learning rate of each step: a warm-up in a line, then the schedule of the run. It may rest
// (wsd, constant) and falls on a cosine or in a line to optimizer.final_learning_rate.
// Invariant: a pure function of (configuration, step) in a fixed order of IEEE operations, compiled
// with -ffp-contract=off. The cosine alone calls libm, whose last bit may differ elsewhere: one
// machine computes the rate, and COMMIT carries it to all others.
// Threading: pure. Source of wsd (warm-up, stable, decay): MiniCPM (arXiv 2404.06395), section 4.
#pragma once

#include "swarm/run/config.hpp"

#include <cstdint>

namespace swarm::run {

/// `step` counts from 0. Steps beyond the last one have its rate.
double learning_rate_at(const RunConfig& config, std::uint64_t step);

/// Steps of the warm-up: optimizer.warmup_steps, or as many as optimizer.warmup_tokens fill, the
/// last one perhaps in part.
std::uint64_t warmup_length(const RunConfig& config);

}  // namespace swarm::run
