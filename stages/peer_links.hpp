// The links of a stage server to its neighbours: the members and observers of its own stage, of the
// one below and of the one above, and of the one that shares a tied matrix. Dials what should be
// there, notices what is lost for good.
// Rule: of two peers the one with the smaller id dials, so two never dial each other at once.
// Invariant: at most one Dial per (peer, lane) under way; redial pauses double up to 2 s.
// Cost: O(log neighbours) per event, O(neighbours) per roster.
// Threading: single strand.
#pragma once

#include "stages/server_context.hpp"

#include <boost/container/flat_map.hpp>
#include <boost/container/flat_set.hpp>

#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace stages {

class PeerLinks {
 public:
    explicit PeerLinks(ServerContext& context) : context_(context) {}

    /// The roster changed. Returns the slots that are gone from it.
    std::vector<SlotId> follow_roster(node::Turn turn);

    /// True when both lanes of a neighbour are up now, and were not before this event.
    bool on(const node::LinkUp& up);
    void on(const node::LinkDown& down, node::Turn turn);
    void on(const node::DialFailed& failed, node::Turn turn);
    void wake(node::Turn turn);

    [[nodiscard]] TimePoint next_deadline() const {
        return due_.empty() ? swarm::kNever : due_.begin()->first;
    }

    [[nodiscard]] bool is_linked(PeerId peer) const;

    /// Peers whose link was lost and did not come back with the same incarnation within 2 s, or
    /// that came back as another one. Each is named once.
    std::vector<PeerId> take_lost() { return std::exchange(lost_, {}); }

 private:
    using LaneKey = std::pair<PeerId, node::Lane>;

    static constexpr swarm::Duration kRestoreWithin = std::chrono::seconds(2);

    struct Wire {
        bool up = false;
        TimePoint dial_at = swarm::kNever;
        swarm::Duration pause = std::chrono::milliseconds(50);
    };

    struct Neighbour {
        SlotId slot;
        swarm::Incarnation incarnation;
        std::string address;
        std::array<Wire, 2> lanes{};        // by node::Lane
        TimePoint lost_at = swarm::kNever;  // when the first lane went down; kNever: all is well
        bool was_linked = false;
        TimePoint due = swarm::kNever;  // as in due_
    };

    using Neighbours = boost::container::flat_map<PeerId, Neighbour>;

    /// Those of followed_, each in its last slot there, as if nothing was known of their links.
    [[nodiscard]] Neighbours listed() const;
    void dial_due(PeerId peer, Neighbour& neighbour, node::Turn turn);
    /// Call after every change of what its deadline follows from.
    void reschedule(PeerId peer, Neighbour& neighbour);

    static Wire& wire(Neighbour& neighbour, node::Lane lane) {
        return neighbour.lanes[static_cast<std::size_t>(lane)];
    }

    ServerContext& context_;
    std::vector<SlotId> followed_;  // of the stages named above, in the last roster
    Neighbours neighbours_;
    std::set<std::pair<TimePoint, PeerId>> due_;  // a redial, or the end of the wait for one lost
    boost::container::flat_map<LaneKey, swarm::Incarnation> early_;  // of peers not listed yet
    boost::container::flat_set<LaneKey> dialing_;  // also of peers that left the roster since
    std::vector<PeerId> lost_;
};

}  // namespace stages
