// The number of microbatches of a step, where it grows: first_microbatches in step 0, and
// `microbatches` from step grow_steps on; between them it lies on a line, rounded down.
// Invariant: pure functions of (run, step), so a replay, a resumed run, --single and each peer mean
// the same microbatches. A tail computes gradients of loss / microbatches whatever the step has;
// step_scalars() makes up for the rest.
// Threading: pure. Cost: O(log) of the numbers.
#pragma once

#include "swarm/run/config.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace swarm::run {

/// The key at fault and the end of a sentence about it.
std::optional<std::pair<std::string, std::string>> growth_fault(const RunConfig& config);

/// `step` counts from 0.
std::uint32_t microbatches_of(const RunConfig& config, std::uint64_t step);

/// Microbatches of all steps before `step`.
std::uint64_t microbatches_before(const RunConfig& config, std::uint64_t step);

/// Tokens of one step.
std::uint64_t tokens_of(const RunConfig& config, std::uint64_t step);

/// The first step before which there were at least so many tokens.
std::uint64_t steps_with_tokens(const RunConfig& config, std::uint64_t tokens);

}  // namespace swarm::run
