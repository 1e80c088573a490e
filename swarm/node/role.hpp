// A role is the part of a peer that decides: a plain object, event in, actions out.
// It has no clock, socket, thread, file, coroutine or randomness of its own, so the same class runs
// on a real network (swarm/net/host) and on virtual time (sim/world), and is a fuzz target as is.
//
// The contract. RoleRunner enforces what it can; tests/conformance holds both hosts to the rest.
//  C1 Turns     One event at a time, never re-entered. `now` is constant within a turn and never
//               goes back. The actions of a turn are carried out after it, in order.
//  C2 Start     Before any event the host reads next_deadline(); kAtOnce asks for a Woke now.
//  C3 Deadline  Read again after each turn. Woke comes at or after it, never before. After a Woke
//               the deadline must lie in the future, or the host would spin.
//  C4 Links     At most one link per peer and lane. LinkDown exactly once per LinkUp: also after an
//               own Close, and when a new link of the peer replaces the old one (LinkDown, LinkUp).
//  C5 Dial      Exactly one answer, LinkUp or DialFailed, within the host's dial timeout.
//  C6 Messages  In order and at most once per link, none after its LinkDown; no order between the
//               two lanes. A Send without a link vanishes: there is no answer to a Send but the
//               other side's message.
//  C7 Storage   Stored comes after fsync, in order of the durable Appends and WriteFiles. A disk
//               that fails ends the process: a role never hears of a store that failed. After a
//               crash, a prefix of the unanswered records may be there; a file is there whole or
//               not at all.
//  C8 End       Stop is the last event: what its turn sends and stores is sent and stored before
//               the process ends. A crash gives no event at all: only stored records survive it.
//  C9 Input     on() neither blocks nor throws, whatever a peer sends.
//  C10 Compute  Jobs run one at a time in order; exactly one Computed for each that is to be
//               answered, unless the process ends. Until it ran, nobody but the device touches it.
//  C11 Asked    Requests of the process itself come as events, in order, never before the first
//               turn.
#pragma once

#include "swarm/base/units.hpp"
#include "swarm/node/action.hpp"
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
};

/// What a role hands to its own handlers, so that they need not list both.
struct Turn {
    TimePoint now;
    Outbox& out;
};

}  // namespace swarm::node
