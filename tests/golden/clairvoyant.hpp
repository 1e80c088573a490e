// An oracle of moves that knows who goes and when: what a rebalancer's bytes are compared with.
// All peers are equal. It holds every stage at floor(peers / stages) at all times, moves somebody
// only when a stage is below that, out of the stage that will keep most peers, takes the one who
// stays longest, and sends newcomers to the stage that will keep fewest. Downloads take no time.
// Greedy: an upper bound of what hindsight needs. Cost: O(peers) per coming and going.
#pragma once

#include "sim/scenario/schedule.hpp"

#include <cstdint>

namespace sim::golden {

/// Of newcomers and movers.
std::uint64_t clairvoyant_downloads(const Scenario& scenario, const Schedule& schedule);

}  // namespace sim::golden
