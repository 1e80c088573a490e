// What the lines from a server to the next hops take, by the frames of many rows that it sends
// there and their receivers answer (SessionTaken). One line per peer, shared by all sessions.
// Invariant: answers come in the order of the frames; with one that does not (a lie, a mistake, or
// to a frame beyond the bound) what is under way there counts for nothing. Bounds: a peer per link
// that is up, kUnderWayMax frames each; beyond that none is measured until answers come.
// Threading: single strand. Cost: O(log peers).
#pragma once

#include "stages/line_meter.hpp"
#include "swarm/protocol/message.hpp"

#include <deque>
#include <map>

namespace stacking::sessions {

class RowLines {
 public:
    void sent(
        swarm::PeerId to,
        const swarm::protocol::SessionRows& rows,
        std::uint64_t bytes,
        swarm::TimePoint now
    );
    void taken(swarm::PeerId by, const swarm::protocol::SessionTaken& taken, swarm::TimePoint now);

    /// The link broke.
    void lost(swarm::PeerId peer) { lines_.erase(peer); }

    /// 0: not measured lately.
    [[nodiscard]] double bytes_per_s(swarm::PeerId to, swarm::TimePoint now);

 private:
    static constexpr std::size_t kUnderWayMax = 1024;
    /// Prompts come seldom, and a line is what it is for longer than a step of training.
    static constexpr swarm::Duration kWindow = std::chrono::minutes(1);

    struct Frame {
        swarm::protocol::SessionTaken answer;
        std::uint64_t bytes = 0;
        stages::LineMeter::Generation sent_in{};
    };

    struct Line {
        stages::LineMeter meter{kWindow};
        std::deque<Frame> under_way{};
    };

    std::map<swarm::PeerId, Line> lines_;
};

}  // namespace stacking::sessions
