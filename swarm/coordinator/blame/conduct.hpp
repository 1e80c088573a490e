// Peers that were caught: fenced for what they said or withheld, not for silence. Whoever is caught
// is not a member again for a while, four times longer each time, so that a liar cannot hold up
// step after step. An honest peer may be fenced for the lies of others; the first time is short.
// Threading: single strand. Bound: kCaughtMax peers; above it the one that may come back first is
// forgotten. Cost: O(log n), O(n) above the bound.
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/base/units.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>

namespace swarm::coordinator {

class Conduct {
 public:
    static constexpr Duration kFirstTime = std::chrono::seconds(10);
    static constexpr Duration kLongestTime = std::chrono::minutes(10);
    static constexpr int kLongerEachTime = 4;
    static constexpr std::size_t kCaughtMax = 4096;

    void caught(PeerId peer, TimePoint now) {
        if (!records_.contains(peer) && records_.size() >= kCaughtMax) {
            records_.erase(std::ranges::min_element(records_, {}, [](const auto& entry) {
                return entry.second.until;
            }));
        }
        Record& record = records_[peer];
        record.time = std::clamp(kLongerEachTime * record.time, kFirstTime, kLongestTime);
        record.until = now + record.time;
    }

    /// True while the peer may not be a member where others are.
    [[nodiscard]] bool is_away(PeerId peer, TimePoint now) const {
        const auto found = records_.find(peer);
        return found != records_.end() && now < found->second.until;
    }

 private:
    struct Record {
        Duration time{};
        TimePoint until{};
    };

    std::map<PeerId, Record> records_;
};

}  // namespace swarm::coordinator
