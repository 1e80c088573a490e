// One peer of the world: its machine (disk, device, access line), which outlives the process, and
// the process, which comes and goes. Plain data: World keeps the rules.
#pragma once

#include "sim/clock.hpp"
#include "sim/device.hpp"
#include "sim/disk.hpp"
#include "sim/network.hpp"
#include "sim/peer.hpp"
#include "sim/pipe.hpp"
#include "swarm/node/role_runner.hpp"

#include <boost/container/flat_map.hpp>
#include <boost/container/flat_set.hpp>
#include <boost/unordered/unordered_flat_map.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace sim {

namespace node = swarm::node;

/// Called at every start of a peer's process, with the incarnation that the others will see.
using MakeRole = std::function<std::unique_ptr<node::Role>(swarm::Incarnation)>;

struct PeerOptions {
    std::uint64_t up_bytes_per_s = 0;  // 0: unlimited
    std::uint64_t down_bytes_per_s = 0;
    DeviceOptions device = {};
    std::uint64_t memory_bytes = 0;  // lent to its stage; 0: no bound
    RegionIndex region = 0;          // an index of WorldOptions::network.latency
    Duration clock_offset{};         // the role's clock, at the world's time 0
    double clock_drift_ppm = 0;      // how much faster than the world's time that clock goes
};

enum class ItemKind : std::uint8_t {
    FrameBegins,   // index: frame; its first bytes are at the receiver's access line
    FrameArrives,  // index: frame; all of it is at the receiver's access line
    FrameIsHere,   // index: frame; through the access line
    DialArrives,   // link, at the listener
    DialAccepted,  // link, at the dialer
    DialRefused,   // link
    DialTimesOut,  // link
    DialIsReset,   // index: remote peer, lane; generation: whether to anybody
    DialToNobody,
    LinkIsReset,  // index: remote peer, lane
    Wake,         // value: the time it was armed for
    PipeIsDue,    // index: 0 up, 1 down; value: the time it was armed for
    JobIsDue,
    DiskIsDue,
    Request,
    StopArrives,
    RestartIsDue,  // value: the life that ended
};

/// Something that is still to happen to a peer.
struct Item {
    ItemKind kind{};
    Lane lane{};
    PeerIndex peer = 0;
    std::uint32_t index = 0;
    std::uint32_t generation = 0;  // with index: a LinkId
    std::uint64_t value = 0;       // otherwise: the life of the process that the item is meant for

    [[nodiscard]] LinkId link() const { return {index, generation}; }
};

struct LinkKey {
    PeerIndex remote = 0;
    Lane lane{};

    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 misreads the 0 inside a defaulted <=>
    friend auto operator<=>(const LinkKey&, const LinkKey&) = default;
};

struct LinkKeyHash {
    std::size_t operator()(const LinkKey& key) const {
        return swarm::mix_bits(
            (std::uint64_t{key.remote} << 8) | static_cast<std::uint8_t>(key.lane)
        );
    }
};

/// A dial, and whether it was to anybody: such a dial may run beside one to the peer by name.
using DialKey = std::pair<LinkKey, bool>;

/// A dial of a peer that is not in the world.
struct LinkToNobody {
    PeerId peer;
    Lane lane{};
};

struct DiskAnswer {
    Disk::Ticket ticket = 0;
    node::Event event;
};

struct Process {
    Process(
        PeerId id, PeerIndex place, MakeRole maker, const PeerOptions& options, std::uint64_t seed
    )
        : self(id),
          index(place),
          make_role(std::move(maker)),
          incarnations(stream_of(seed, id, Purpose::Incarnation)),
          disk_rng(stream_of(seed, id, Purpose::Disk)),
          faults(stream_of(seed, id, Purpose::Faults)),
          crashes(stream_of(seed, id, Purpose::Crashes)),
          device(options.device, stream_of(seed, id, Purpose::Device)),
          clock(options.clock_offset, options.clock_drift_ppm),
          up(options.up_bytes_per_s),
          down(options.down_bytes_per_s) {}

    PeerId self;
    PeerIndex index;
    MakeRole make_role;

    swarm::Rng incarnations;
    swarm::Rng disk_rng;
    swarm::Rng faults;
    swarm::Rng crashes;
    Disk disk;
    bool disk_is_full = false;
    Device device;
    Clock clock;
    Pipe up;
    Pipe down;
    std::vector<PeerIndex> blocked_from{};
    bool behind_router = false;  // dials to this peer are lost
    std::uint64_t dials = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;

    std::unique_ptr<node::RoleRunner> runner{};  // null while the process is down
    node::Role* role = nullptr;
    swarm::Incarnation incarnation{};
    std::uint64_t life = 0;  // a later life does not hear the answers to an earlier one's requests
    bool in_turn = false;
    bool stopping = false;
    bool doomed = false;  // the process ends after this turn, the rest of which is lost
    bool frozen = false;
    TimePoint frozen_at{};
    TimePoint armed_for = swarm::kNever;
    TimePoint synced_at{};
    std::deque<DiskAnswer> disk_answers{};
    std::deque<std::unique_ptr<node::Event>> requests{};
    std::deque<LinkToNobody> dials_to_nobody{};
    boost::unordered_flat_map<LinkKey, LinkId, LinkKeyHash> links{};
    /// Links whose end the role has not heard of yet.
    boost::container::flat_set<LinkKey> lost_links{};
    boost::container::flat_map<DialKey, LinkId> dialing{};
    /// Items that came while the peer was frozen or the way to it blocked, in order.
    std::vector<Item> held{};
};

}  // namespace sim
