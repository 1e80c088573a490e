// What the versions of a run count. In mode exact a version is a step. Replicas of mode sparse also
// exchange what they have changed, which is a commit of its own, without microbatches: a turn is a
// step or such an exchange, and versions count turns.
// With H steps between two exchanges: H steps, an exchange, H steps, and so on; the last turn is an
// exchange, however many steps came before it. Batch plan, learning rate and bias correction follow
// the steps.
// Invariant: every turn of mode exact is the step of the same number.
#pragma once

#include "swarm/run/config.hpp"

#include <cstdint>

namespace swarm::run {

/// Of the whole run: its last version.
std::uint64_t turns_in(const RunConfig& config);

/// How many steps come before the turn; the number of its step, unless it is an exchange.
std::uint64_t steps_before(const RunConfig& config, std::uint64_t turn);

/// How many exchanges come before the turn.
std::uint64_t exchanges_before(const RunConfig& config, std::uint64_t turn);

/// The other way round: turns before the state that all replicas share after so many steps.
std::uint64_t turns_for(const RunConfig& config, std::uint64_t steps);

bool is_exchange(const RunConfig& config, std::uint64_t turn);

/// Whether the version that `turn` turns have made is one state for all replicas of a stage.
bool is_shared_version(const RunConfig& config, std::uint64_t turn);

}  // namespace swarm::run
