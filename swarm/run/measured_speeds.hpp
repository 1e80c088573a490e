// How fast the members of a run are, as whoever sends them work has measured: for reports. No
// decision reads it (the rebalancer's view of the same messages is Placement).
// Cost: one look-up per rate of a heartbeat. Memory: at most two numbers per slot of the roster.
#pragma once

#include "swarm/run/observed_rates.hpp"
#include "swarm/run/roster.hpp"

#include <boost/container/flat_map.hpp>

#include <vector>

namespace swarm::run {

class MeasuredSpeeds {
 public:
    /// `stage`: the one that was measured. What is said of others is dropped.
    void note(
        const Roster& roster, StageIndex stage, const std::vector<protocol::ObservedRate>& rates
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

    /// Work units (tokens x layers) per second; 0 when nobody has measured it yet.
    [[nodiscard]] double units_per_s(SlotId slot) const {
        const auto found = units_per_s_.find(slot);
        return found == units_per_s_.end() ? 0 : found->second;
    }

 private:
    boost::container::flat_map<SlotId, double> units_per_s_;  // the latest word
};

}  // namespace swarm::run
