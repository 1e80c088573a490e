// Simulated links: whom they join, on which lane, which ends are up, when a frame arrives.
// Invariant: frames of one direction of one link arrive in the order sent, each with its latency.
// Every link draws from its own stream of the seed, named by who dialed whom for the n-th time.
// A link is forgotten, and its place reused, once both ends are closed; ids of old links find
// nothing. Cost: O(1) per call.
#pragma once

#include "sim/peer.hpp"
#include "swarm/base/ids.hpp"
#include "swarm/base/rng.hpp"
#include "swarm/base/units.hpp"
#include "swarm/protocol/frame.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sim {

using swarm::Duration;
using swarm::TimePoint;
using swarm::protocol::Lane;

struct LinkId {
    std::uint32_t index = 0;
    std::uint32_t generation = 0;

    friend bool operator==(const LinkId&, const LinkId&) = default;
};

/// Index into the pairs of a Link.
enum class Side : std::uint8_t { Dialer, Listener };

constexpr Side other(Side side) {
    return side == Side::Dialer ? Side::Listener : Side::Dialer;
}

template <class T>
struct PerSide {
    std::array<T, 2> values{};

    T& operator[](Side side) { return values[static_cast<std::size_t>(side)]; }

    const T& operator[](Side side) const { return values[static_cast<std::size_t>(side)]; }
};

/// Pending: the dialer waits for its answer, or the dial has not reached the listener.
enum class End : std::uint8_t { Closed, Pending, Up };

struct Link {
    PerSide<PeerIndex> peers{};
    PerSide<End> ends{};
    PerSide<swarm::Incarnation> incarnations{};
    PerSide<TimePoint> last_arrival{};  // at that side
    swarm::Rng rng{0, 0};
    Lane lane = Lane::Control;
    bool to_anybody = false;  // dialed by address, whoever lives there
    std::uint32_t generation = 0;

    [[nodiscard]] Side side_of(PeerIndex peer) const {
        return peer == peers[Side::Dialer] ? Side::Dialer : Side::Listener;
    }

    [[nodiscard]] PeerIndex remote_of(PeerIndex self) const { return peers[other(side_of(self))]; }
};

struct NetworkOptions {
    Duration latency_min = std::chrono::milliseconds(5);
    Duration latency_max = std::chrono::milliseconds(60);
};

class Network {
 public:
    Network(std::uint64_t seed, NetworkOptions options) : seed_(seed), options_(options) {}

    /// Both ends are pending. `name` must differ from dial to dial: it names the random stream.
    LinkId open(PeerIndex dialer, PeerIndex listener, Lane lane, std::uint64_t name);

    /// Null once both ends are closed.
    [[nodiscard]] Link* find(LinkId id) {
        Link& link = links_[id.index];
        return link.generation == id.generation ? &link : nullptr;
    }

    void close(LinkId id, Side side);

    /// Of a frame that leaves at `left_at` for this side.
    TimePoint arrival_time(Link& link, Side to, TimePoint left_at) {
        TimePoint& last = link.last_arrival[to];
        last = std::max(last, left_at + draw_latency(link.rng));
        return last;
    }

    [[nodiscard]] Duration latency_max() const { return options_.latency_max; }

    [[nodiscard]] std::size_t open_links() const { return links_.size() - free_.size(); }

 private:
    [[nodiscard]] Duration draw_latency(swarm::Rng& rng) const {
        const auto spread =
            static_cast<std::uint64_t>((options_.latency_max - options_.latency_min).count());
        return options_.latency_min + Duration(rng.below(spread + 1));
    }

    std::uint64_t seed_;
    NetworkOptions options_;
    std::vector<Link> links_;
    std::vector<std::uint32_t> free_;
};

}  // namespace sim
