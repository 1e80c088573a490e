// How many bytes a frame would be on the wire, without encoding it: header, an estimate of the
// Protobuf control part from the lengths of its lists and texts, envelope and tensor bytes.
// Cost: O(1), but O(slots) for a Roster.
#pragma once

#include "swarm/node/payload.hpp"
#include "swarm/protocol/message.hpp"

#include <cstdint>

namespace swarm::node {

std::uint64_t frame_bytes(const protocol::Message& message, const Payload& payload);

}  // namespace swarm::node
