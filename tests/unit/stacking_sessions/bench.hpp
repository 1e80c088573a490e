// One sub-machine under a test's hand: its actions, what it sent, and its device.
#pragma once

#include "swarm/node/role.hpp"

#include <utility>
#include <vector>

namespace stacking::sessions {

namespace node = swarm::node;

/// The messages of one kind among the actions, oldest first, with whom they go to.
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
