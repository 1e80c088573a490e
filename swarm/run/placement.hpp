// Where peers work: collects what senders see of each member, and asks the run's rebalancer once a
// period whether one should move. The coordinator carries the move out (coordinator_moves.cpp).
// Invariants: a peer's own word about itself is not used (I10), nor is what it says of peers that
// it sends nothing to; a view ends with its period, or with the slot of either side.
// Threading: single strand. Memory: one view per slot and slot of the stage below.
// Cost: O(slots of the stage) per heartbeat, O(views) per period.
#pragma once

#include "router/rebalancer.hpp"
#include "swarm/protocol/message.hpp"
#include "swarm/run/config.hpp"
#include "swarm/run/roster.hpp"

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace swarm::run {

class Placement {
 public:
    explicit Placement(const RunConfig& config);

    /// What a member sees of the peers of the next stage, in slot order; anything else is ignored.
    void note(
        const Roster& roster, SlotId sender, const std::vector<protocol::ObservedRate>& rates
    );

    /// The coordinator is the sender of stage 0: it looks as often as a peer's heartbeats tell.
    [[nodiscard]] bool wants_own_rates(TimePoint now) const {
        return rebalancer_ && now >= own_look_due_;
    }

    void note_own(
        const Roster& roster, const std::vector<protocol::ObservedRate>& rates, TimePoint now
    );

    /// The move of this period, when it is over.
    std::optional<router::Move> decide(const Roster& roster, TimePoint now);

    /// kNever when nothing ever moves.
    [[nodiscard]] TimePoint next_deadline() const { return due_; }

    /// For a newcomer; nothing: any rule will do, this run's rebalancer has none.
    [[nodiscard]] std::optional<StageIndex> place(const Roster& roster) const;

 private:
    /// One sender's view of one slot, since the period began.
    struct View {
        SlotId seen;
        double queued_sum = 0;
        std::uint32_t count = 0;
        double units_per_s = 0;
    };

    /// In slot order and in one piece: a thousand senders each tell of dozens every two seconds.
    using Views = std::vector<View>;

    void note(
        SlotId sender,
        std::span<const SlotId> stage,
        const std::vector<protocol::ObservedRate>& rates
    );
    [[nodiscard]] router::StageLoads loads(const Roster& roster) const;

    std::uint32_t stages_;
    Duration every_;
    std::unique_ptr<router::Rebalancer> rebalancer_;
    std::map<SlotId, Views> views_;  // by the sender; of slots that are gone, too
    TimePoint due_ = kNever;
    TimePoint own_look_due_ = kAtOnce;
};

}  // namespace swarm::run
