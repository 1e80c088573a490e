// The rates of the lines from a server to the next hops, measured by the frames of many rows that
// it sends there and that the receivers answer (SessionTaken). All sessions share one line per
// peer.
// Invariant: answers come in the order of the frames. After an answer that does not (a lie, a
// mistake, or the answer to a frame beyond the bound) the frames under way on that line count for
// nothing. Bounds: one line per peer with a link, kUnderWayMax frames each; further frames are not
// measured until answers come. Threading: single strand. Cost: O(log peers).
#pragma once

#include "router/line_meter.hpp"
#include "swarm/protocol/message.hpp"

#include <deque>
#include <map>

namespace stacking::sessions {

class RowLines {
 public:
    /// Whether a frame says something of its line, and is answered: a token, even with guesses, is
    /// too short.
    static bool measures(const swarm::protocol::SessionRows& rows) {
        return rows.rows > 1 && rows.guessed == 0;
    }

    void sent(
        swarm::PeerId to,
        const swarm::protocol::SessionRows& rows,
        std::uint64_t bytes,
        swarm::TimePoint now
    );
    void taken(swarm::PeerId by, const swarm::protocol::SessionTaken& taken, swarm::TimePoint now);

    /// Forgets the line of a peer whose link broke.
    void lost(swarm::PeerId peer) { lines_.erase(peer); }

    /// Rate of the line; 0 when it was not measured lately.
    [[nodiscard]] double bytes_per_s(swarm::PeerId to, swarm::TimePoint now);

 private:
    static constexpr std::size_t kUnderWayMax = 1024;
    /// Window of the meter. Prompts come seldom, and a line's rate holds for longer than a step of
    /// training.
    static constexpr swarm::Duration kWindow = std::chrono::minutes(1);

    struct Frame {
        swarm::protocol::SessionTaken answer;
        std::uint64_t bytes = 0;
        router::LineMeter::Generation sent_in{};
    };

    struct Line {
        router::LineMeter meter{kWindow};
        std::deque<Frame> under_way{};
    };

    std::map<swarm::PeerId, Line> lines_;
};

}  // namespace stacking::sessions
