// Looped steps: in each step whose number, counted from 1 as people read it, is a multiple of
// loop.every, a microbatch is computed twice. The first pass learns nothing; it shows the rows h
// behind the last layer and the entropy of the next token at each position. The second pass reads
// h[t] in place of the embedding of token t at the positions of the highest entropy, and only these
// positions have a loss there: the one that is trained and reported.
// Invariant: pure functions of (run, step), so a replay, a resumed run, --single and each peer loop
// the same steps.
// The run has one stage: otherwise states would travel from the last stage to the first.
// Threading: pure. Source: model stacking (S. Mueller 2025), COCONUT (arXiv 2412.06769); the
// deviations from both are in stages/torch/second_pass.hpp.
#pragma once

#include "swarm/run/config.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace swarm::run {

/// `step` counts from 0.
bool is_looped(const LoopConfig& loop, std::uint64_t step);

/// Positions of a sequence that a looped step loops: loop.part of model.context, rounded up, and at
/// least 1.
std::uint32_t looped_positions(const RunConfig& config);

/// The key at fault and the end of a sentence about it.
std::optional<std::pair<std::string, std::string>> loop_fault(const RunConfig& config);

}  // namespace swarm::run
