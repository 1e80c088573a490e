// Bounds the connections per second that are taken from each machine and from each network, so that
// neither can spend this machine's time on handshakes. Each has a token bucket; a connection beyond
// either is closed before anything is read or computed. A machine has a quarter of its network's
// share, so that one that floods leaves room to its neighbours.
// Invariant: two do not share a bucket while there are fewer than kRememberedMax of their kind;
// later ones share one.
// Threading: single strand. Memory: 2 kRememberedMax buckets. Cost: O(log buckets), and O(buckets)
// once per kRememberedMax new ones.
#pragma once

#include "swarm/base/units.hpp"
#include "swarm/net/admission/origin.hpp"

#include <cstddef>
#include <cstdint>
#include <map>

namespace swarm::net {

/// Token buckets of one size, each found by a number.
class Buckets {
 public:
    Buckets(double burst, double per_second) : burst_(burst), per_second_(per_second) {
        shared_.left = burst;
    }

    static constexpr std::size_t kRememberedMax = 4096;

    /// Tokens of this number's bucket, which the caller may take from.
    double& left(std::uint64_t number, TimePoint now);

 private:
    struct Bucket {
        double left = 0;
        TimePoint at{};  // `left` is of this time
    };

    void refill(Bucket& bucket, TimePoint now) const;
    Bucket& bucket_of(std::uint64_t number, TimePoint now);

    double burst_;
    double per_second_;
    std::map<std::uint64_t, Bucket> buckets_;
    Bucket shared_;  // bucket of the numbers for which there is no room
};

class Arrivals {
 public:
    /// A whole run behind one router may come at once, with two links per pair of peers.
    static constexpr double kBurst = 512;
    static constexpr double kPerSecond = 64;
    /// A network has the shares of so many machines.
    static constexpr double kMachines = 4;

    /// Returns false when the connection is one too many.
    bool take(const Origin& origin, TimePoint now);

 private:
    Buckets machines_{kBurst, kPerSecond};
    Buckets networks_{kMachines * kBurst, kMachines* kPerSecond};
};

}  // namespace swarm::net
