// Names in the world: ids of simulated peers, their dense index, and their own random streams.
// Invariant: a stream is named by (seed, peer, purpose), never by order of creation, so another
// peer, or another draw for another purpose, shifts no peer's numbers.
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/base/rng.hpp"

#include <cstddef>
#include <cstdint>

namespace sim {

using swarm::PeerId;

/// Place of a peer in its world, in the order of add_peer.
using PeerIndex = std::uint32_t;

/// The n-th simulated peer.
constexpr PeerId peer(std::uint64_t n) {
    return PeerId{{n, 0, 0, 0}};
}

enum class Purpose : std::uint64_t { Incarnation = 1, Disk, Device, Faults, Crashes };

constexpr std::uint64_t name_bits(const PeerId& id, std::uint64_t salt) {
    std::uint64_t name = salt;
    for (const std::uint64_t word : id.words) {
        name = swarm::mix_bits(name ^ word) + 0x9e3779b97f4a7c15;
    }
    return name;
}

inline swarm::Rng stream_of(std::uint64_t seed, const PeerId& id, Purpose purpose) {
    return {seed, name_bits(id, static_cast<std::uint64_t>(purpose))};
}

struct PeerHash {
    std::size_t operator()(const PeerId& id) const { return name_bits(id, 0); }
};

}  // namespace sim
