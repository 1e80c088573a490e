#include "sim/network.hpp"

#include "swarm/base/check.hpp"

#include <cmath>

namespace sim {

Network::Network(std::uint64_t seed, const NetworkOptions& options) : seed_(seed) {
    SWARM_ASSERT(options.latency_min <= options.latency_max);
    if (options.latency.empty()) {
        ranges_ = {{options.latency_min, options.latency_max - options.latency_min}};
    }
    regions_ = std::max<std::size_t>(1, options.latency.size());
    const Duration::rep ppm = std::llround(options.jitter * 1e6);
    for (const std::vector<Duration>& row : options.latency) {
        SWARM_ASSERT(row.size() == regions_);
        for (const Duration least : row) {
            // Computed in two parts: nanoseconds x ppm overflows beyond two hours.
            const Duration::rep whole = least.count() / 1'000'000;
            const Duration::rep rest = least.count() % 1'000'000;
            ranges_.push_back({least, Duration(whole * ppm + rest * ppm / 1'000'000)});
        }
    }
    for (const LatencyRange& range : ranges_) {
        SWARM_ASSERT(range.least >= Duration{});
        latency_max_ = std::max(latency_max_, range.least + range.spread);
    }
}

void Network::add_peer(RegionIndex region) {
    SWARM_ASSERT(region < regions_);
    regions_of_.push_back(region);
}

LinkId Network::open(PeerIndex dialer, PeerIndex listener, Lane lane, std::uint64_t name) {
    if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(links_.size()));
        links_.emplace_back();
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    Link& link = links_[index];
    const std::uint32_t generation = link.generation;
    link = Link{};
    link.generation = generation;
    link.peers = {{dialer, listener}};
    link.ends = {{End::Pending, End::Pending}};
    link.latency = {{range(listener, dialer), range(dialer, listener)}};
    link.rng = swarm::Rng(seed_, name);
    link.lane = lane;
    return {index, generation};
}

void Network::close(LinkId id, Side side) {
    Link& link = links_[id.index];
    link.ends[side] = End::Closed;
    if (link.ends[other(side)] == End::Closed) {
        ++link.generation;
        free_.push_back(id.index);
    }
}

}  // namespace sim
