// The requests per second that a directory answers for each peer: a bucket per link, which holds
// kRequestsAtOnceMax and gains kRequestsPerS a second. A request is judged before its cost is
// known, so a large answer may leave a debt.
// Invariant: no peer's requests take anything from another peer's bucket.
// Threading: single strand. Memory: a bucket for each peer with a link. Cost: O(log peers).
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/base/units.hpp"
#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>

namespace stacking::sessions {

class RequestBudget {
 public:
    void linked(swarm::PeerId peer, std::uint64_t network) { peers_[peer].network = network; }

    void lost(swarm::PeerId peer) { peers_.erase(peer); }

    [[nodiscard]] std::uint64_t network_of(swarm::PeerId peer) const {
        const auto found = peers_.find(peer);
        return found == peers_.end() ? 0 : found->second.network;
    }

    /// Takes one request off the peer's bucket. Returns false when the request is one too many.
    bool take(swarm::PeerId peer, swarm::TimePoint now) {
        Bucket& bucket = peers_[peer];
        const std::chrono::duration<double> passed = now - bucket.at;
        bucket.left =
            std::min(kMost, bucket.left + swarm::protocol::kRequestsPerS * passed.count());
        bucket.at = now;
        if (bucket.left < 1) {
            return false;
        }
        bucket.left -= 1;
        return true;
    }

    /// Charges what the request that was just taken costs beyond one.
    void charge(swarm::PeerId peer, double more) { peers_[peer].left -= more; }

 private:
    static constexpr double kMost = swarm::protocol::kRequestsAtOnceMax;

    struct Bucket {
        std::uint64_t network = 0;
        double left = kMost;
        swarm::TimePoint at{};  // `left` is of this time
    };

    std::map<swarm::PeerId, Bucket> peers_;
};

}  // namespace stacking::sessions
