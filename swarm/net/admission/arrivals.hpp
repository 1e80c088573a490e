// Bounds the connections per second that are taken from each network, so that one network cannot
// spend this machine's time on handshakes. A token bucket per network; a connection beyond it is
// closed before anything is read or computed.
// Invariant: networks do not share a bucket while there are fewer than kNetworksMax of them; later
// ones share one.
// Threading: single strand. Memory: kNetworksMax buckets. Cost: O(log networks), and O(networks)
// once per kNetworksMax new ones.
#pragma once

#include "swarm/base/units.hpp"

#include <cstddef>
#include <cstdint>
#include <map>

namespace swarm::net {

class Arrivals {
 public:
    /// A whole run behind one router may come at once, with two links per pair of peers.
    static constexpr double kBurst = 512;
    static constexpr double kPerSecond = 64;
    static constexpr std::size_t kNetworksMax = 4096;

    /// Returns false when the connection is one too many.
    bool take(std::uint64_t network, TimePoint now);

 private:
    struct Bucket {
        double left = kBurst;
        TimePoint at{};  // `left` is of this time
    };

    static void refill(Bucket& bucket, TimePoint now);
    Bucket& bucket_of(std::uint64_t network, TimePoint now);

    std::map<std::uint64_t, Bucket> buckets_;
    Bucket shared_;  // bucket of the networks for which there is no room
};

}  // namespace swarm::net
