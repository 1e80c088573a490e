// Twelve real processes of the oracle model that are killed, frozen, drained and replaced, and
// whose coordinator is killed every two minutes: what the tests of churn share.
#pragma once

#include "tests/process/local_run.hpp"

#include <cstdint>

namespace swarm::test {

/// How often each kind of event happened.
struct ChurnCounts {
    int kills = 0;
    int freezes = 0;
    int drains = 0;
    int joins = 0;
    int coordinator_kills = 0;
};

/// Expects equality with one process and every commit to count the whole batch, and that recovery
/// from faults with no other in between is quick. `flags`: --steps, --seed, ...
ChurnCounts expect_exact_under_churn(std::vector<std::string> flags, std::chrono::seconds deadline);

}  // namespace swarm::test
