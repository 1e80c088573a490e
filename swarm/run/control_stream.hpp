// One end of the control stream between the coordinator and a peer. It numbers the messages that
// are sent, repeats them after a reconnect of the same incarnation until they are acknowledged, and
// drops messages that it has received before. A lost link makes control messages late, never lost.
// Invariant: receive() lets each message of the other side through once, in order.
// Threading: single strand. Memory: the unread() messages, which the owner bounds.
#pragma once

#include "swarm/protocol/message.hpp"

#include <cstdint>
#include <deque>

namespace swarm::run {

class ControlStream {
 public:
    enum class Verdict {
        Deliver,    // the message is new, or has no number
        Duplicate,  // the message was repeated after a reconnect
        Broken,     // there is a gap, so the other side does not keep the protocol
    };

    /// The message as it is to be sent. It is kept until it is acknowledged.
    protocol::Message number(protocol::Body body);
    /// A message that is never repeated. It acknowledges like any other.
    [[nodiscard]] protocol::Message unnumbered(protocol::Body body);

    Verdict receive(const protocol::Message& message);

    /// The messages that are not acknowledged, oldest first; they are sent again on a new link.
    [[nodiscard]] std::vector<protocol::Message> unacknowledged() const;
    /// Messages that are not acknowledged.
    [[nodiscard]] std::size_t unread() const { return sent_.size(); }
    /// True when so many messages have come since the last one to the other side that an
    /// acknowledgement is due.
    [[nodiscard]] bool owes_acknowledgement() const;

    void reset() { *this = ControlStream(); }

    /// True when no numbered message went either way, so that forgetting the stream loses nothing.
    [[nodiscard]] bool is_untouched() const { return next_number_ == 1 && received_ == 0; }

    /// Makes an untouched stream go on where the other side, which remembers more, is by its
    /// message.
    void go_on_from(const protocol::Message& message);

 private:
    std::deque<protocol::Message> sent_;
    std::uint64_t next_number_ = 1;
    std::uint64_t received_ = 0;
    std::uint64_t told_ = 0;
};

}  // namespace swarm::run
