// Walks the rates that a heartbeat reports of the peers of one stage.
// Invariant: each slot of the stage is visited once at most, in slot order. Rates of other slots,
// and rates out of order, are dropped. Threading: pure. Cost: O(rates + slots of the stage).
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/protocol/message.hpp"

#include <span>
#include <utility>
#include <vector>

namespace swarm::coordinator {

/// `stage` is the list of the stage's slots in order, which Roster::slots_of gives.
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

}  // namespace swarm::coordinator
