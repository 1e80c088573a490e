#include "swarm/run/turns.hpp"

namespace swarm::run {

namespace {

/// The steps between two exchanges and the exchange.
std::uint64_t round_of(const RunConfig& config) {
    return std::uint64_t{steps_between_syncs(config)} + 1;
}

}  // namespace

std::uint64_t turns_in(const RunConfig& config) {
    if (config.mode == SyncMode::Exact) {
        return config.steps;
    }
    const std::uint64_t between = steps_between_syncs(config);
    return config.steps + (config.steps + between - 1) / between;
}

std::uint64_t steps_before(const RunConfig& config, std::uint64_t turn) {
    return config.mode == SyncMode::Exact ? turn : turn - turn / round_of(config);
}

bool is_exchange(const RunConfig& config, std::uint64_t turn) {
    return config.mode == SyncMode::Sparse &&
           (turn % round_of(config) == round_of(config) - 1 || turn + 1 == turns_in(config));
}

bool is_shared_version(const RunConfig& config, std::uint64_t turn) {
    return config.mode == SyncMode::Exact || turn == 0 || is_exchange(config, turn - 1);
}

}  // namespace swarm::run
