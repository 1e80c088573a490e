// What the members of a run say of themselves in their heartbeats: how long their device works on a
// microbatch, and how fast their lines are. The choice of codecs and of the split read it.
// Threading: single strand. Memory: three numbers for each slot of the roster, twice at most.
#pragma once

#include "swarm/protocol/message.hpp"
#include "swarm/run/roster.hpp"

#include <boost/container/flat_map.hpp>

namespace swarm::run {

class SelfMeasures {
 public:
    void note(const Roster& roster, SlotId slot, const protocol::SelfMeasured& measured) {
        latest_[slot] = measured;
        if (latest_.size() > 2 * roster.slots().size()) {
            for (auto entry = latest_.begin(); entry != latest_.end();) {
                entry = roster.find(entry->first) ? entry + 1 : latest_.erase(entry);
            }
        }
    }

    /// Null before its device has worked on a microbatch.
    [[nodiscard]] const protocol::SelfMeasured* find(SlotId slot) const {
        const auto found = latest_.find(slot);
        const bool known = found != latest_.end() && found->second.microbatch_s > 0;
        return known ? &found->second : nullptr;
    }

 private:
    boost::container::flat_map<SlotId, protocol::SelfMeasured> latest_;
};

}  // namespace swarm::run
