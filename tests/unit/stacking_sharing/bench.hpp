// Helpers for tests of one side: the messages that it sent, digests, and chunks.
#pragma once

#include "swarm/base/digest.hpp"
#include "swarm/node/role.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace stacking::sharing {

namespace node = swarm::node;
namespace protocol = swarm::protocol;

/// Returns the messages of one kind among the actions, oldest first, with their receivers.
template <class Kind>
std::vector<std::pair<swarm::PeerId, Kind>> sent(const node::Outbox& out) {
    std::vector<std::pair<swarm::PeerId, Kind>> found;
    for (const node::Action& action : out.actions) {
        if (const auto* send = std::get_if<node::Send>(&action)) {
            if (const auto* body = std::get_if<Kind>(&send->message.body)) {
                found.emplace_back(send->peer, *body);
            }
        }
    }
    return found;
}

inline swarm::Digest digest_of(unsigned char first) {
    swarm::Digest digest;
    digest.bytes[0] = static_cast<std::byte>(first);
    return digest;
}

/// The bytes of a chunk, each with other ones.
inline std::vector<std::byte> chunk_bytes(std::uint32_t chunk) {
    return std::vector<std::byte>(10 + chunk, static_cast<std::byte>(chunk));
}

}  // namespace stacking::sharing
