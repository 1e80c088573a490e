// Tells how many bytes a frame would have on the wire, without encoding it. The number is the sum
// of header, envelope, tensor bytes and an estimate of the Protobuf control part, which follows
// from the lengths of the message's lists and texts.
// Cost: O(1), but O(slots) for a Roster and O(hosts) for a Located.
#pragma once

#include "swarm/node/payload.hpp"
#include "swarm/protocol/message.hpp"

#include <cstdint>

namespace swarm::node {

std::uint64_t frame_bytes(const protocol::Message& message, const Payload& payload);

}  // namespace swarm::node
