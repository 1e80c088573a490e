// An oracle of moves that knows which peers will go and when. A rebalancer's bytes are compared
// with its bytes. All peers are equal. The oracle keeps every stage at floor(peers / stages) or
// above. It moves a peer only when a stage is below that: the peer that stays longest, out of the
// stage that will keep most peers. It sends newcomers to the stage that will keep fewest. Downloads
// take no time. The oracle is greedy, so its bytes are an upper bound of the bytes that hindsight
// needs.
// Cost: O(peers) per arrival or departure.
#pragma once

#include "sim/scenario/schedule.hpp"

#include <cstdint>

namespace sim::golden {

/// Returns the number of downloads by newcomers and by peers that move.
std::uint64_t clairvoyant_downloads(const Scenario& scenario, const Schedule& schedule);

}  // namespace sim::golden
