#include "swarm/net/admission/arrivals.hpp"

#include <algorithm>
#include <chrono>

namespace swarm::net {

void Arrivals::refill(Bucket& bucket, TimePoint now) {
    const std::chrono::duration<double> passed = now - bucket.at;
    bucket.left = std::min(kBurst, bucket.left + kPerSecond * passed.count());
    bucket.at = now;
}

Arrivals::Bucket& Arrivals::bucket_of(std::uint64_t network, TimePoint now) {
    if (const auto found = buckets_.find(network); found != buckets_.end()) {
        return found->second;
    }
    if (buckets_.size() >= kNetworksMax) {
        std::erase_if(buckets_, [&](const auto& item) {
            Bucket bucket = item.second;
            refill(bucket, now);
            return bucket.left >= kBurst;
        });
    }
    return buckets_.size() < kNetworksMax ? buckets_[network] : shared_;
}

bool Arrivals::take(std::uint64_t network, TimePoint now) {
    Bucket& bucket = bucket_of(network, now);
    refill(bucket, now);
    if (bucket.left < 1) {
        return false;
    }
    bucket.left -= 1;
    return true;
}

}  // namespace swarm::net
