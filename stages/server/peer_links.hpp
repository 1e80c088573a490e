// The links of a stage server to its neighbours: the members and observers of its own stage, of the
// stages below and above, and of the stage that shares a tied matrix. It dials the links that
// should be there, and notices which are lost for good.
// Rule: both sides of a pair dial, so one that can be reached is enough; the smaller id has a start
// of 1 s, so dials seldom cross, and the host keeps one link of those that do (C4).
// Invariant: at most one Dial per (peer, lane) is under way; pauses before a redial double up to
// 2 s.
// Threading: single strand. Errors: none; a failed dial is repeated while the roster lists the
// peer. A neighbour to which no dial of either side has led for 5 s is cut off: a warning names it
// and both addresses, and the heartbeats tell the coordinator.
// Cost: O(log neighbours) per event, O(neighbours) per roster.
#pragma once

#include "stages/server/server_context.hpp"

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

    /// Follows a change of the roster. Returns the slots of neighbours that are gone from it.
    std::vector<SlotId> follow_roster(node::Turn turn);

    /// Notes a link. Returns true when this event brings up the second of a neighbour's two lanes.
    bool on(const node::LinkUp& up, node::Turn turn);
    void on(const node::LinkDown& down, node::Turn turn);
    void on(const node::DialFailed& failed, node::Turn turn);
    void wake(node::Turn turn);

    [[nodiscard]] TimePoint next_deadline() const {
        return due_.empty() ? swarm::kNever : due_.begin()->first;
    }

    /// The neighbours that are cut off, in the order of their peers; at most kCutOffMax.
    [[nodiscard]] std::vector<SlotId> cut_off() const;

    /// True once after each neighbour that was found to be cut off.
    bool take_newly_cut_off() { return std::exchange(newly_cut_off_, false); }

    /// True for a peer of the last roster, also while a new coordinator has told none yet.
    [[nodiscard]] bool knows(PeerId peer) const { return neighbours_.contains(peer); }

    /// True when both lanes of a neighbour are up.
    [[nodiscard]] bool is_linked(PeerId peer) const;

    /// Returns the peers whose link was lost and did not come back with the same incarnation within
    /// 2 s, and those that came back with another incarnation. Each is returned once.
    std::vector<PeerId> take_lost() { return std::exchange(lost_, {}); }

 private:
    using LaneKey = std::pair<PeerId, node::Lane>;

    static constexpr swarm::Duration kRestoreWithin = std::chrono::seconds(2);
    static constexpr swarm::Duration kHeadStart = std::chrono::seconds(1);
    static constexpr swarm::Duration kCutOffAfter = std::chrono::seconds(5);

    struct Wire {
        bool up = false;
        TimePoint dial_at = swarm::kNever;                      // time of the next dial
        swarm::Duration pause = std::chrono::milliseconds(50);  // pause before the next redial
    };

    struct Neighbour {
        SlotId slot;
        swarm::Incarnation incarnation;
        std::string address;
        StageIndex stage;
        std::array<Wire, 2> lanes{};        // indexed by node::Lane
        TimePoint lost_at = swarm::kNever;  // when the first lane went down; kNever: all is well
        bool was_linked = false;
        TimePoint due = swarm::kNever;          // the neighbour's deadline in due_
        TimePoint apart_since = swarm::kNever;  // since then there is no link; kNever: there is one
        std::string trouble{};                  // why the last dial since then has failed
        bool is_cut_off = false;
    };

    using Neighbours = boost::container::flat_map<PeerId, Neighbour>;

    /// The peers of followed_, each with its last slot there and no link.
    [[nodiscard]] Neighbours listed() const;
    void dial_due(PeerId peer, Neighbour& neighbour, node::Turn turn);
    /// The pause that leaves the first dial to the peer, if that has the smaller id.
    [[nodiscard]] swarm::Duration head_start(PeerId peer) const;
    /// Finds a neighbour cut off, once its time is over.
    void look_at(PeerId peer, Neighbour& neighbour, node::Turn turn);
    /// Forgets the failed dials of a linked neighbour, and says so if a warning told of them.
    void note_reached(PeerId peer, Neighbour& neighbour, node::Turn turn);
    /// Computes a neighbour's deadline anew; is called after every change of its links.
    void reschedule(PeerId peer, Neighbour& neighbour);

    static Wire& wire(Neighbour& neighbour, node::Lane lane) {
        return neighbour.lanes[static_cast<std::size_t>(lane)];
    }

    ServerContext& context_;
    std::vector<SlotId> followed_;  // slots of the last roster in the stages of neighbours
    Neighbours neighbours_;
    std::set<std::pair<TimePoint, PeerId>> due_;  // deadlines: a redial, or the end of a wait
    boost::container::flat_map<LaneKey, swarm::Incarnation> early_;  // links of unlisted peers
    boost::container::flat_set<LaneKey> dialing_;  // dials under way, also to peers that have left
    std::vector<PeerId> lost_;
    bool newly_cut_off_ = false;
    std::size_t cut_off_count_ = 0;  // neighbours; mostly 0, and each heartbeat asks
};

}  // namespace stages
