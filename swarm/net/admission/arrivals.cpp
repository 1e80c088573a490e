#include "swarm/net/admission/arrivals.hpp"

#include <algorithm>
#include <chrono>

namespace swarm::net {

void Buckets::refill(Bucket& bucket, TimePoint now) const {
    const std::chrono::duration<double> passed = now - bucket.at;
    bucket.left = std::min(burst_, bucket.left + per_second_ * passed.count());
    bucket.at = now;
}

Buckets::Bucket& Buckets::bucket_of(std::uint64_t number, TimePoint now) {
    if (const auto found = buckets_.find(number); found != buckets_.end()) {
        return found->second;
    }
    if (buckets_.size() >= kRememberedMax) {
        std::erase_if(buckets_, [&](const auto& item) {
            Bucket bucket = item.second;
            refill(bucket, now);
            return bucket.left >= burst_;
        });
    }
    if (buckets_.size() >= kRememberedMax) {
        return shared_;
    }
    return buckets_.emplace(number, Bucket{burst_, now}).first->second;
}

double& Buckets::left(std::uint64_t number, TimePoint now) {
    Bucket& bucket = bucket_of(number, now);
    refill(bucket, now);
    return bucket.left;
}

bool Arrivals::take(const Origin& origin, TimePoint now) {
    // The network's bucket is left alone when the machine has none left: its neighbours need it.
    double& of_machine = machines_.left(origin.machine, now);
    if (of_machine < 1) {
        return false;
    }
    double& of_network = networks_.left(origin.network, now);
    if (of_network < 1) {
        return false;
    }
    of_machine -= 1;
    of_network -= 1;
    return true;
}

}  // namespace swarm::net
