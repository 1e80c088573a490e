// The version of a run counts its commits. In mode exact each commit ends a step, so version and
// step are the same number. In mode sparse some commits end an exchange instead, in which the
// replicas share their changes and which has no microbatches. With H steps between two exchanges
// the order is H steps, an exchange, H steps, and so on; the last commit is that of an exchange,
// even when fewer steps come before it. Batch plan, learning rate and bias correction follow the
// steps.
// Threading: pure functions.
#pragma once

#include "swarm/run/config.hpp"

#include <cstdint>

namespace swarm::run {

/// The version with which the run is over.
std::uint64_t last_version(const RunConfig& config);

/// Whether nothing is left to train at `version`. A run that was resumed with fewer steps than it
/// has made is past its last version.
bool is_over(const RunConfig& config, std::uint64_t version);

/// The steps that have made `version`; also the number of the step that begins at it.
std::uint64_t steps_before(const RunConfig& config, std::uint64_t version);

/// The exchanges that have made `version`.
std::uint64_t exchanges_before(const RunConfig& config, std::uint64_t version);

/// The inverse of steps_before(): the version in which all replicas share the result of `steps`.
std::uint64_t version_after(const RunConfig& config, std::uint64_t steps);

/// Whether an exchange begins at `version`, and not a step.
bool is_exchange(const RunConfig& config, std::uint64_t version);

/// Whether all replicas of a stage have the same state at `version`.
bool is_shared_version(const RunConfig& config, std::uint64_t version);

}  // namespace swarm::run
