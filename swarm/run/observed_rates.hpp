// Walks what a heartbeat says of the peers of one stage.
// Invariant: each slot of the stage is visited once at most, in slot order; what is said of other
// slots, or out of order, is dropped. Cost: O(rates + slots of the stage).
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/protocol/message.hpp"

#include <span>
#include <utility>
#include <vector>

namespace swarm::run {

/// `stage`: its slots in order, as Roster::slots_of gives them.
template <class Visit>
void for_each_rate(
    const std::vector<protocol::ObservedRate>& rates, std::span<const SlotId> stage, Visit&& visit
) {
    auto slot = stage.begin();
    for (const protocol::ObservedRate& rate : rates) {
        while (slot != stage.end() && *slot < rate.slot) {
            ++slot;
        }
        if (slot == stage.end()) {
            return;
        }
        if (*slot == rate.slot) {
            ++slot;
            visit(rate);
        }
    }
}

}  // namespace swarm::run
