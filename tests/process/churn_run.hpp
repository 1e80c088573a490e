// The run of the tests of churn: twelve real processes of the oracle model that are killed, frozen,
// drained and replaced, and a coordinator that is killed every two minutes.
#pragma once

#include "tests/process/local_run.hpp"

#include <cstdint>

namespace swarm::test {

/// The number of events of each kind.
struct ChurnCounts {
    int kills = 0;
    int freezes = 0;
    int drains = 0;
    int joins = 0;
    int coordinator_kills = 0;
};

/// Expects that the run equals one process, that every commit counts the whole batch, and that the
/// run recovers quickly from a fault without another one in between. `flags`: --steps, --seed, ...
ChurnCounts expect_exact_under_churn(std::vector<std::string> flags, std::chrono::seconds deadline);

}  // namespace swarm::test
