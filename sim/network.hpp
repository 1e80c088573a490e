// Simulated links: a link knows its two peers, its lane, which ends are up, and when a frame
// arrives.
// Invariant: frames of one direction of one link arrive in the order sent, each with its latency.
// Every link draws from its own stream of the seed, named by the two peers, the dialer and the
// number of that dial. Latency is that of the two peers' regions, one way; integers only, so the
// same on every compiler.
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

/// Latency of a frame: `least` and up to `spread` more, drawn anew for each.
struct LatencyRange {
    Duration least{};
    Duration spread{};
};

struct Link {
    PerSide<PeerIndex> peers{};
    PerSide<End> ends{};
    PerSide<swarm::Incarnation> incarnations{};
    PerSide<TimePoint> up_since{};
    PerSide<LatencyRange> latency{};    // by the side that a frame travels to
    PerSide<TimePoint> last_arrival{};  // the last arrival at that side
    swarm::Rng rng{0, 0};
    Lane lane = Lane::Control;
    bool to_anybody = false;  // dialed by address, whichever peer lives there
    std::uint32_t generation = 0;

    [[nodiscard]] Side side_of(PeerIndex peer) const {
        return peer == peers[Side::Dialer] ? Side::Dialer : Side::Listener;
    }

    [[nodiscard]] PeerIndex remote_of(PeerIndex self) const { return peers[other(side_of(self))]; }
};

/// Index into NetworkOptions::latency.
using RegionIndex = std::uint32_t;

struct NetworkOptions {
    Duration latency_min = std::chrono::milliseconds(5);  // these two hold without regions
    Duration latency_max = std::chrono::milliseconds(60);
    /// [from][to], square; a frame takes this time, and up to `jitter` of it more.
    std::vector<std::vector<Duration>> latency{};
    double jitter = 0;
};

class Network {
 public:
    Network(std::uint64_t seed, const NetworkOptions& options);

    /// Peers are added in the order of their index. `region` is one of the matrix's, or 0 when
    /// there are no regions.
    void add_peer(RegionIndex region);

    /// Opens a link with both ends pending. `name` must differ from dial to dial: it names the
    /// random stream.
    LinkId open(PeerIndex dialer, PeerIndex listener, Lane lane, std::uint64_t name);

    /// Returns null once both ends are closed.
    [[nodiscard]] Link* find(LinkId id) {
        Link& link = links_[id.index];
        return link.generation == id.generation ? &link : nullptr;
    }

    [[nodiscard]] const Link* find(LinkId id) const {
        const Link& link = links_[id.index];
        return link.generation == id.generation ? &link : nullptr;
    }

    void close(LinkId id, Side side);

    /// The time at which a frame that leaves at `left_at` reaches side `to`.
    TimePoint arrival_time(Link& link, Side to, TimePoint left_at) {
        TimePoint& last = link.last_arrival[to];
        const LatencyRange& range = link.latency[to];
        const auto spread = static_cast<std::uint64_t>(range.spread.count());
        last = std::max(last, left_at + range.least + Duration(link.rng.below(spread + 1)));
        return last;
    }

    /// The longest latency between any two peers.
    [[nodiscard]] Duration latency_max() const { return latency_max_; }

    [[nodiscard]] std::size_t open_links() const { return links_.size() - free_.size(); }

 private:
    [[nodiscard]] const LatencyRange& range(PeerIndex from, PeerIndex to) const {
        return ranges_[regions_of_[from] * regions_ + regions_of_[to]];
    }

    std::uint64_t seed_;
    std::size_t regions_ = 1;
    std::vector<LatencyRange> ranges_;     // by from x regions_ + to
    std::vector<RegionIndex> regions_of_;  // by peer
    Duration latency_max_{};
    std::vector<Link> links_;
    std::vector<std::uint32_t> free_;
};

}  // namespace sim
