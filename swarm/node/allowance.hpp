// How much a peer may cost this process before the role has seen what the peer sends. The role
// answers by what it knows of the peer at that moment; the host on sockets (swarm/net/host) asks
// before it keeps one of many links, reads a large control part or takes a tensor. The simulated
// world holds no memory for strangers, so it does not ask.
// Rule: the word of a peer about itself earns it nothing beyond Guest.
#pragma once

#include "swarm/protocol/limits.hpp"

#include <cstdint>

namespace swarm::node {

/// Relations of a role to a peer, in rising order.
enum class Acquaintance : std::uint8_t {
    Stranger,  // nothing: few such links are kept, and one that is silent for long ends
    Guest,     // it has asked for something: few such links are kept
    Partner,   // the role works with it: its links are kept
};

struct Allowance {
    Acquaintance acquaintance = Acquaintance::Partner;
    std::uint32_t control_bytes = protocol::kControlBytesMax;  // control part of a frame
    std::uint64_t tensor_bytes = protocol::kTensorBytesMax;    // tensor of a frame

    /// A peer that sends no tensors here.
    static constexpr Allowance without_tensors(Acquaintance acquaintance) {
        return {acquaintance, protocol::kControlBytesMax, 0};
    }
};

}  // namespace swarm::node
