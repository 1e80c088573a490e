#include "swarm/run/turns.hpp"

#include <algorithm>

namespace swarm::run {

namespace {

/// The steps between two exchanges and the exchange.
std::uint64_t round_of(const RunConfig& config) {
    return std::uint64_t{steps_between_syncs(config)} + 1;
}

}  // namespace

std::uint64_t turns_in(const RunConfig& config) {
    return turns_for(config, config.steps);
}

std::uint64_t turns_for(const RunConfig& config, std::uint64_t steps) {
    if (config.mode == SyncMode::Exact) {
        return steps;
    }
    const std::uint64_t between = steps_between_syncs(config);
    return steps + (steps + between - 1) / between;
}

std::uint64_t steps_before(const RunConfig& config, std::uint64_t turn) {
    if (config.mode == SyncMode::Exact) {
        return turn;
    }
    // The last round may be shorter, and its exchange comes before the end.
    return std::min(turn - turn / round_of(config), config.steps);
}

std::uint64_t exchanges_before(const RunConfig& config, std::uint64_t turn) {
    return turn - steps_before(config, turn);
}

bool is_exchange(const RunConfig& config, std::uint64_t turn) {
    return config.mode == SyncMode::Sparse &&
           (turn % round_of(config) == round_of(config) - 1 || turn + 1 == turns_in(config));
}

bool is_shared_version(const RunConfig& config, std::uint64_t turn) {
    return config.mode == SyncMode::Exact || turn == 0 || is_exchange(config, turn - 1);
}

}  // namespace swarm::run
