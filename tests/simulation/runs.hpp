// The coordinator and the log of a simulated run, for tests.
#pragma once

#include "sim/run/run_world.hpp"

#include <string>

namespace sim {

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
