#include "swarm/run/versions.hpp"

#include <algorithm>

namespace swarm::run {

namespace {

/// Commits from one exchange to the next.
std::uint64_t round_of(const RunConfig& config) {
    return std::uint64_t{steps_between_syncs(config)} + 1;
}

}  // namespace

std::uint64_t last_version(const RunConfig& config) {
    return version_after(config, config.steps);
}

bool is_over(const RunConfig& config, std::uint64_t version) {
    return version >= last_version(config);
}

std::uint64_t version_after(const RunConfig& config, std::uint64_t steps) {
    if (config.mode == SyncMode::Exact) {
        return steps;
    }
    const std::uint64_t between = steps_between_syncs(config);
    return steps + (steps + between - 1) / between;
}

std::uint64_t steps_before(const RunConfig& config, std::uint64_t version) {
    if (config.mode == SyncMode::Exact) {
        return version;
    }
    // The last round may be shorter, and its exchange comes before the end.
    return std::min(version - version / round_of(config), config.steps);
}

std::uint64_t exchanges_before(const RunConfig& config, std::uint64_t version) {
    return version - steps_before(config, version);
}

bool is_exchange(const RunConfig& config, std::uint64_t version) {
    return config.mode == SyncMode::Sparse && (version % round_of(config) == round_of(config) - 1 ||
                                               version + 1 == last_version(config));
}

bool is_shared_version(const RunConfig& config, std::uint64_t version) {
    return config.mode == SyncMode::Exact || version == 0 || is_exchange(config, version - 1);
}

}  // namespace swarm::run
