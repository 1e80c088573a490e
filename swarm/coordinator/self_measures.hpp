// The members' measurements of themselves, from their heartbeats: the time of their device for a
// microbatch, and the rates of their lines. The choices of codecs and of the split read them.
// Threading: single strand. Memory: three numbers for each slot of the roster, twice at most.
#pragma once

#include "swarm/protocol/message.hpp"
#include "swarm/run/roster.hpp"

#include <boost/container/flat_map.hpp>

namespace swarm::coordinator {

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
