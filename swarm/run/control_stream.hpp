// One direction-pair of the control stream between the coordinator and a peer: numbers what is
// sent, repeats it after a reconnect of the same incarnation until acknowledged, and drops what was
// received before. A lost link makes control messages late, never lost.
// Invariant: what receive() lets through is each message of the other side once, in order.
// Threading: single strand. Memory: at most kUnacknowledgedMax messages.
#pragma once

#include "swarm/protocol/message.hpp"

#include <cstdint>
#include <deque>

namespace swarm::run {

class ControlStream {
 public:
    enum class Verdict {
        Deliver,    // new, or not numbered
        Duplicate,  // repeated after a reconnect
        Broken,     // a gap: the other side does not keep the protocol
    };

    /// The message as it is to be sent; kept until acknowledged.
    protocol::Message number(protocol::Body body);
    /// A message that needs no repetition; it still acknowledges.
    [[nodiscard]] protocol::Message unnumbered(protocol::Body body);

    Verdict receive(const protocol::Message& message);

    /// Everything not yet acknowledged, oldest first: to be sent again on a new link.
    [[nodiscard]] std::vector<protocol::Message> unacknowledged() const;
    /// The other side reads nothing any more: give it up.
    [[nodiscard]] bool overflowed() const;
    /// So much was received since the last message to the other side that it should hear of it.
    [[nodiscard]] bool owes_acknowledgement() const;

    void reset() { *this = ControlStream(); }

    /// Nothing numbered went either way: whoever forgets it forgets nothing.
    [[nodiscard]] bool is_untouched() const { return next_number_ == 1 && received_ == 0; }

    /// For an untouched one whose other side remembers more: go on where its message says it is.
    void go_on_from(const protocol::Message& message);

 private:
    std::deque<protocol::Message> sent_;
    std::uint64_t next_number_ = 1;
    std::uint64_t received_ = 0;
    std::uint64_t told_ = 0;
};

}  // namespace swarm::run
