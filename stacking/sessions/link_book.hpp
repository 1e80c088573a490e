// The links that are up, and the peers that are being dialed. LinkBook never redials by itself: a
// user that needs a link asks for it, and hears of a failure as an event.
// Invariant: at most one Dial per (peer, lane) is under way. Bound: the peers that were asked for,
// and those that have a link here. Threading: single strand. Cost: O(log links) per call.
#pragma once

#include "swarm/node/role.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace stacking::sessions {

namespace node = swarm::node;
namespace protocol = swarm::protocol;
using swarm::PeerId;
using swarm::TimePoint;

class LinkBook {
 public:
    void want(PeerId peer, node::Lane lane, const std::string& address, node::Turn turn) {
        if (!is_up(peer, lane) && dialing_.insert({peer, lane}).second) {
            turn.out.add(node::Dial{peer, lane, address});
        }
    }

    [[nodiscard]] bool is_up(PeerId peer, node::Lane lane) const {
        return up_.contains({peer, lane});
    }

    /// The network of a peer with a control link here; 0 without one.
    [[nodiscard]] std::uint64_t network_of(PeerId peer) const {
        const auto found = up_.find({peer, node::Lane::Control});
        return found == up_.end() ? 0 : found->second;
    }

    void on(const node::LinkUp& up) {
        dialing_.erase({up.peer, up.lane});
        up_[{up.peer, up.lane}] = up.network;
    }

    void on(const node::LinkDown& down) { up_.erase({down.peer, down.lane}); }

    void on(const node::DialFailed& failed) { dialing_.erase({failed.peer, failed.lane}); }

 private:
    std::map<std::pair<PeerId, node::Lane>, std::uint64_t> up_;  // with the peer's network
    std::set<std::pair<PeerId, node::Lane>> dialing_;
};

/// Sends a message outside the coordinator's numbered streams. Without a link the message is lost.
inline void send(PeerId peer, protocol::Body body, node::Turn turn, node::Payload payload = {}) {
    turn.out.add(node::Send{peer, {0, 0, std::move(body)}, std::move(payload)});
}

}  // namespace stacking::sessions
