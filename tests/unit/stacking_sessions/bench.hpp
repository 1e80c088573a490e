// Helpers for tests of one sub-machine: the messages that it sent, and digests.
#pragma once

#include "swarm/node/role.hpp"

#include <utility>
#include <vector>

namespace stacking::sessions {

namespace node = swarm::node;

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

}  // namespace stacking::sessions
