// Links of a client to the members of the first stage. Both lanes of up to kHeadsMax members are
// kept up, so that a failed member is replaced without a dial.
// Invariants: at most one Dial per (peer, lane) is under way. pick() names a listed Member that has
// both lanes up and does not rest; among several it takes the one whose last pick is longest ago.
// Pauses and rests double up to kPauseMax and end with the first success.
// Threading: single strand. Cost: O(members) per call.
#pragma once

#include "swarm/node/role.hpp"
#include "swarm/run/roster.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace stacking {

namespace node = swarm::node;
using swarm::PeerId;
using swarm::TimePoint;

class HeadLinks {
 public:
    static constexpr std::size_t kHeadsMax = 16;
    static constexpr swarm::Duration kPauseFirst = std::chrono::milliseconds(100);
    static constexpr swarm::Duration kPauseMax = std::chrono::seconds(2);

    void follow(const swarm::run::Roster& roster, node::Turn turn);
    void on(const node::LinkUp& up, node::Turn turn);
    void on(const node::LinkDown& down, node::Turn turn);
    void on(const node::DialFailed& failed, node::Turn turn);
    void wake(node::Turn turn);
    [[nodiscard]] TimePoint next_deadline() const;

    std::optional<PeerId> pick(TimePoint now);
    void succeeded(PeerId peer);
    /// The peer refused or kept silent; pick() leaves it out until its rest is over.
    void rest(PeerId peer, TimePoint now);

 private:
    struct Wire {
        bool up = false;
        bool dialing = false;
    };

    struct Head {
        std::string address;
        bool listed = false;    // in the roster; an unlisted head goes once its links are down
        bool pickable = false;  // in the roster as a Member
        std::array<Wire, 2> lanes;
        TimePoint dial_at = swarm::kNever;
        swarm::Duration pause = kPauseFirst;
        TimePoint rests_until = swarm::kAtOnce;  // kAtOnce: no rest
        swarm::Duration rest = kPauseFirst;
        std::uint64_t picked = 0;

        [[nodiscard]] bool is_idle() const;

        [[nodiscard]] bool is_linked() const { return lanes[0].up && lanes[1].up; }
    };

    [[nodiscard]] std::size_t open_heads() const;
    void dial_due(node::Turn turn);
    void drop_unlisted(node::Turn turn);

    static Wire& wire(Head& head, node::Lane lane) {
        return head.lanes[static_cast<std::size_t>(lane)];
    }

    std::map<PeerId, Head> heads_;
    std::uint64_t picks_ = 0;
};

}  // namespace stacking
