// The coordinator's end of every peer's connection: which incarnation speaks, over which lanes, and
// its control stream. Roles above it name a peer and a message, never a link.
// Invariants: the control stream of an incarnation survives reconnects; a new incarnation starts a
// new one; who was forgotten and comes back goes on where its own end of the stream is.
// Threading: single strand. Memory: one stream per peer, until forget(). Cost: O(log peers) per
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

namespace swarm::run {

class Sessions {
 public:
    struct Session {
        Incarnation incarnation;
        bool control_up = false;
        bool bulk_up = false;
        TimePoint gone_at = kNever;           // while both lanes are down
        std::uint64_t lent_memory_bytes = 0;  // as it says; 0: no bound
        ControlStream stream;
    };

    /// True when the link belongs to another incarnation than before (or to a new peer).
    bool link_up(const node::LinkUp& up, node::Turn turn);
    void link_down(const node::LinkDown& down, TimePoint now);

    void forget(PeerId peer) { sessions_.erase(peer); }

    /// Both lanes are down, and nothing was said that must be kept or repeated.
    [[nodiscard]] bool left_nothing(PeerId peer) const;
    /// Of those with neither lane nor slot, who is so for the longest time.
    [[nodiscard]] std::optional<PeerId> longest_gone(const Roster& roster) const;

    /// In order, repeated until acknowledged. Nothing for a peer that never connected.
    void send(PeerId peer, protocol::Body body, node::Turn turn);
    /// Once, if there is a link; payloads only here.
    void post(PeerId peer, protocol::Body body, node::Payload payload, node::Turn turn);

    /// False: seen before, or the stream is broken (the link is then closed).
    bool receive(const node::Received& received, node::Turn turn);

    [[nodiscard]] const Session* find(PeerId peer) const;
    void set_lent_memory(PeerId peer, std::uint64_t bytes);
    /// 0: no bound that is known.
    [[nodiscard]] std::uint64_t lent_memory(PeerId peer) const;
    [[nodiscard]] bool is_linked(PeerId peer) const;

    [[nodiscard]] std::size_t size() const { return sessions_.size(); }

    /// Everybody who is remembered, with a slot or without.
    [[nodiscard]] std::vector<PeerId> peers() const;

 private:
    std::map<PeerId, Session> sessions_;
};

}  // namespace swarm::run
