// The speeds of members by their heartbeats: the rates that the senders of their work observed,
// and the measures that members took of themselves. Reports show the first; the choices of codecs
// and of the split read the second. Placement keeps the rebalancer's view of the same messages.
// Threading: single strand. Cost: one look-up per rate of a heartbeat. Memory: five numbers for
// each slot of the roster, twice at most.
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/protocol/message.hpp"
#include "swarm/run/roster.hpp"

#include <boost/container/flat_map.hpp>

#include <span>
#include <utility>
#include <vector>

namespace swarm::coordinator {

/// Walks the rates that a heartbeat reports of the peers of one stage. Each slot of the stage is
/// visited once at most, in slot order; rates of other slots, and rates out of order, are dropped.
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

/// The speeds of members as the senders of their work measured them. No decision reads them.
class MeasuredSpeeds {
 public:
    /// `stage` is the stage that was measured; rates of other stages are dropped.
    void note(
        const run::Roster& roster,
        StageIndex stage,
        const std::vector<protocol::ObservedRate>& rates
    ) {
        for_each_rate(rates, roster.slots_of(stage), [&](const protocol::ObservedRate& rate) {
            if (rate.units_per_s > 0) {
                units_per_s_[rate.slot] = rate.units_per_s;
            }
        });
        if (units_per_s_.size() > 2 * roster.slots().size()) {
            for (auto entry = units_per_s_.begin(); entry != units_per_s_.end();) {
                entry = roster.find(entry->first) ? entry + 1 : units_per_s_.erase(entry);
            }
        }
    }

    /// Work units (tokens x layers) per second; 0 when no sender has measured the slot yet.
    [[nodiscard]] double units_per_s(SlotId slot) const {
        const auto found = units_per_s_.find(slot);
        return found == units_per_s_.end() ? 0 : found->second;
    }

 private:
    boost::container::flat_map<SlotId, double> units_per_s_;  // the latest measurement
};

/// The members' measurements of themselves: the time of their device for a microbatch, and the
/// rates of their lines.
class SelfMeasures {
 public:
    void note(const run::Roster& roster, SlotId slot, const protocol::SelfMeasured& measured) {
        latest_[slot] = measured;
        if (latest_.size() > 2 * roster.slots().size()) {
            for (auto entry = latest_.begin(); entry != latest_.end();) {
                entry = roster.find(entry->first) ? entry + 1 : latest_.erase(entry);
            }
        }
    }

    /// Null before the member's device has worked on a microbatch.
    [[nodiscard]] const protocol::SelfMeasured* find(SlotId slot) const {
        const auto found = latest_.find(slot);
        const bool known = found != latest_.end() && found->second.microbatch_s > 0;
        return known ? &found->second : nullptr;
    }

 private:
    boost::container::flat_map<SlotId, protocol::SelfMeasured> latest_;
};

}  // namespace swarm::coordinator
