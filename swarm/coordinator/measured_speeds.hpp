// The speeds of a run's members as the senders of their work measured them, for reports. No
// decision reads them; Placement keeps the rebalancer's view of the same messages.
// Threading: single strand. Cost: one look-up per rate of a heartbeat. Memory: at most two numbers
// per slot of the roster.
#pragma once

#include "swarm/coordinator/observed_rates.hpp"
#include "swarm/run/roster.hpp"

#include <boost/container/flat_map.hpp>

#include <vector>

namespace swarm::coordinator {

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

}  // namespace swarm::coordinator
