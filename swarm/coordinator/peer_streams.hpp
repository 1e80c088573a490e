// The coordinator's end of the connection to every peer: its incarnation, its lanes and its control
// stream. The code above names a peer and a message, never a link.
// Invariants: the control stream of an incarnation survives reconnects; a new incarnation starts a
// new stream; the stream of a peer that was forgotten and comes back goes on where the peer's own
// end is.
// Threading: single strand. Memory: one stream per peer, until forget(), of as many messages as
// limits.hpp grants it. Cost: O(log peers) per
// call, longest_gone() O(peers).
#pragma once

#include "swarm/node/role.hpp"
#include "swarm/run/control_stream.hpp"
#include "swarm/run/roster.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace swarm::coordinator {

class PeerStreams {
 public:
    struct Connection {
        Incarnation incarnation;
        bool control_up = false;
        bool bulk_up = false;
        TimePoint gone_at = kNever;           // set while both lanes are down
        std::uint64_t lent_memory_bytes = 0;  // by the peer's own word; 0: no bound
        bool is_trusted = false;              // this incarnation was found to be a member
        run::ControlStream stream;
    };

    /// True when the link belongs to another incarnation than before, or to a new peer.
    bool link_up(const node::LinkUp& up, node::Turn turn);
    void link_down(const node::LinkDown& down, TimePoint now);

    void forget(PeerId peer) { connections_.erase(peer); }

    /// True when both lanes are down and no message must be kept or repeated.
    [[nodiscard]] bool left_nothing(PeerId peer) const;
    /// The peer that has been without a lane for longest, among the peers without a slot. Nothing
    /// if there are no more than `kept` such peers.
    [[nodiscard]] std::optional<PeerId> longest_gone(const run::Roster& roster, std::size_t kept)
        const;

    /// Allows the peer as many unread messages as a member.
    void trust(PeerId peer);

    /// Sends a message in order and repeats it until it is acknowledged. Does nothing for a peer
    /// that never connected.
    void send(PeerId peer, protocol::Body body, node::Turn turn);
    /// Sends a message once, if there is a link. Payloads travel only this way.
    void post(PeerId peer, protocol::Body body, node::Payload payload, node::Turn turn);

    /// True for a message that is to be handled. False when it was received before, or when the
    /// stream is broken; then the link is closed.
    bool receive(const node::Received& received, node::Turn turn);

    [[nodiscard]] const Connection* find(PeerId peer) const;
    void set_lent_memory(PeerId peer, std::uint64_t bytes);
    /// 0: no bound is known.
    [[nodiscard]] std::uint64_t lent_memory(PeerId peer) const;
    [[nodiscard]] bool is_linked(PeerId peer) const;

    [[nodiscard]] std::size_t size() const { return connections_.size(); }

    /// All peers that are remembered, with a slot or without.
    [[nodiscard]] std::vector<PeerId> peers() const;

 private:
    std::map<PeerId, Connection> connections_;
};

}  // namespace swarm::coordinator
