// The dials that clients of a server cause, because they name the peers before and after a hop. A
// bucket per client bounds them, and what has come of a dial that failed is said at one time,
// whatever the reason was and whenever it was known: so nobody learns from a server which doors are
// open in its neighbourhood (swarm/net/reach/dial_rule bounds the addresses).
// Threading: single strand. Memory: kClientsMax buckets. Cost: O(log clients); O(clients) if full.
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/base/units.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>

namespace stacking::sessions {

class ToldDials {
 public:
    /// Longer than a host takes for any dial. A link that is lost later is told at once.
    static constexpr swarm::Duration kAnswerAfter = std::chrono::milliseconds(3500);
    static constexpr double kAtOnce = 64;  // a client of many sessions begins them all
    static constexpr double kPerSecond = 8;
    static constexpr std::size_t kClientsMax = 1024;

    /// Returns false when the dial is one too many for the client.
    bool take(swarm::PeerId client, swarm::TimePoint now) {
        if (clients_.size() >= kClientsMax && !clients_.contains(client)) {
            std::erase_if(clients_, [&](const auto& item) {
                return left(item.second, now) >= kAtOnce;
            });
            if (clients_.size() >= kClientsMax) {
                return false;
            }
        }
        Bucket& bucket = clients_[client];
        bucket.left = left(bucket, now);
        bucket.at = now;
        if (bucket.left < 1) {
            return false;
        }
        bucket.left -= 1;
        return true;
    }

 private:
    struct Bucket {
        double left = kAtOnce;
        swarm::TimePoint at{};  // `left` is of this time
    };

    static double left(const Bucket& bucket, swarm::TimePoint now) {
        const std::chrono::duration<double> passed = now - bucket.at;
        return std::min(kAtOnce, bucket.left + kPerSecond * passed.count());
    }

    std::map<swarm::PeerId, Bucket> clients_;
};

}  // namespace stacking::sessions
