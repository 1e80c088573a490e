// How fast the members of a run are, as whoever sends them work has measured: for reports. No
// decision reads it (the rebalancer's view of the same messages is Placement).
// Cost: one look-up per rate of a heartbeat. Memory: at most two numbers per slot of the roster.
#pragma once

#include "swarm/run/roster.hpp"

#include <map>
#include <vector>

namespace swarm::run {

class MeasuredSpeeds {
 public:
    /// `stage`: the one that was measured. What is said of others is dropped.
    void note(
        const Roster& roster, StageIndex stage, const std::vector<protocol::ObservedRate>& rates
    ) {
        for (const protocol::ObservedRate& rate : rates) {
            const protocol::SlotInfo* const info = roster.find(rate.slot);
            if (info && info->stage == stage && rate.units_per_s > 0) {
                units_per_s_[rate.slot] = rate.units_per_s;
            }
        }
        if (units_per_s_.size() > 2 * roster.slots().size()) {
            std::erase_if(units_per_s_, [&](const auto& e) { return !roster.find(e.first); });
        }
    }

    /// Work units (tokens x layers) per second; 0 when nobody has measured it yet.
    [[nodiscard]] double units_per_s(SlotId slot) const {
        const auto found = units_per_s_.find(slot);
        return found == units_per_s_.end() ? 0 : found->second;
    }

 private:
    std::map<SlotId, double> units_per_s_;  // the latest word
};

}  // namespace swarm::run
