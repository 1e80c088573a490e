// A role is the part of a peer that decides. It is a plain object that takes events and returns
// actions. A role has no clock, socket, thread, file, coroutine or randomness of its own, so the
// same class runs on a real network (swarm/net/host) and on virtual time (sim/world), and can be
// fuzzed as it is.
//
// The contract between role and host follows. RoleRunner enforces C1 to C3 as far as it can;
// tests/conformance holds both hosts to the rest.
//  C1 Turns     The host calls on() with one event at a time and never calls it again before it
//               returns: this is one turn. `now` is constant within a turn and never goes back. The
//               host carries out the actions of a turn after the turn, in order.
//  C2 Start     Before any event the host reads next_deadline(); kAtOnce asks for a Woke at once.
//  C3 Deadline  The host reads next_deadline() again after each turn. Woke comes at or after the
//               deadline, never before it. After a Woke the next deadline must lie in the future,
//               or the host would spin.
//  C4 Links     There is at most one link per peer and lane. Each LinkUp is followed by exactly one
//               LinkDown, also after a Close by the role. When a new link of a peer replaces the
//               old one, the role hears LinkDown, then LinkUp. Of two links from dials that cross,
//               both sides keep the one that the smaller id dialled.
//  C5 Dial      A Dial gets exactly one answer, LinkUp or DialFailed, within the host's timeout. It
//               fails, too, when it crosses the other side's dial and that link is kept.
//  C6 Messages  Messages come in order and at most once per link, and none after the LinkDown. The
//               two lanes have no common order. A Send without a link vanishes. Nothing answers a
//               Send but a message of the other side.
//  C7 Storage   Stored comes after fsync, in the order of the durable Appends and WriteFiles. A
//               disk that fails ends the process, so a role never hears of a failed store. After a
//               crash the log may hold a prefix of the unanswered records; a file is there whole
//               or not at all.
//  C8 End       Stop is the last event. The host sends and stores everything that this turn asks
//               for before the process ends. A crash gives no event: only stored records survive.
//  C9 Input     on() neither blocks nor throws, whatever a peer sends.
//  C10 Compute  Jobs run one at a time and in order. Each Compute with `answered` gets exactly one
//               Computed, unless the process ends first. Only the device touches a job before it
//               has run.
//  C11 Asked    Requests of the process itself come as Asked events, in order, and never before
//               the first turn.
// A host on sockets also asks allowance() between turns, and ends the links of a peer that sends
// more than that.
#pragma once

#include "swarm/base/units.hpp"
#include "swarm/node/action.hpp"
#include "swarm/node/allowance.hpp"
#include "swarm/node/event.hpp"

namespace swarm::node {

class Role {
 public:
    Role() = default;
    Role(const Role&) = delete;
    Role& operator=(const Role&) = delete;
    virtual ~Role() = default;

    virtual void on(const Event& event, TimePoint now, Outbox& out) = 0;
    [[nodiscard]] virtual TimePoint next_deadline() const = 0;

    /// Asked about a peer with a link here. A role that names no limits trusts whoever reaches it.
    [[nodiscard]] virtual Allowance allowance(const PeerId& /*peer*/) const { return {}; }
};

/// The time and the outbox of one call of Role::on, which a role hands to its own handlers.
struct Turn {
    TimePoint now;
    Outbox& out;
};

}  // namespace swarm::node
