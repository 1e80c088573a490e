// Helpers of tests of simulated runs: how much to try, the coordinator, the log.
#pragma once

#include "sim/run/run_world.hpp"

#include <cstdlib>
#include <string>

namespace sim {

/// Whether a test of pairs of crashes takes all of them, which takes minutes: crash_pairs_long.
inline bool all_crash_pairs() {
    return std::getenv("SWARM_ALL_CRASH_PAIRS") != nullptr;
}

inline const PeerId kBoss = RunWorld::coordinator();

/// Returns the lines of the run's log, for the message of a test that fails.
inline std::string log_of(const RunWorld& run) {
    std::string text;
    for (const std::string& line : run.log()) {
        text += line + '\n';
    }
    return text;
}

}  // namespace sim
