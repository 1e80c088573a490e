// Which link ends when there is one too many. A flood comes from few networks, so the choice falls
// on the network with the most links, and there on the machine with the most; others stay.
// Threading: any. Cost: O(links log networks + count (networks + log links)).
#pragma once

#include "swarm/base/units.hpp"
#include "swarm/net/admission/origin.hpp"
#include "swarm/node/allowance.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace swarm::net {

struct Evictable {
    Origin origin;
    node::Acquaintance acquaintance = node::Acquaintance::Stranger;
    TimePoint heard_at{};  // the last sign of life
};

/// Returns the index of the link to end: in the fullest network, strangers before guests, among
/// these one of the fullest machine, and there the one that was heard least lately. Requires that
/// there is a link.
std::size_t choose_eviction(std::span<const Evictable> links);

/// Returns the indices of up to `count` links to end, one after the other. Each is the choice among
/// those that the ones before it leave, but a machine counts the links that it has now.
std::vector<std::size_t> choose_evictions(std::span<const Evictable> links, std::size_t count);

}  // namespace swarm::net
