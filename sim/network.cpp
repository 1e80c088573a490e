#include "sim/network.hpp"

namespace sim {

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
