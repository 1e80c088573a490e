// Where peers work: collects what senders see of each member, and asks the run's rebalancer once a
// period whether one should move. The coordinator carries the move out (coordinator_moves.cpp).
// Invariant: a peer's own word about itself is not used (I10); what is known of a slot that is gone
// is forgotten.
// Threading: single strand. Cost: O(log slots) per observation, O(slots) per period.
#pragma once

#include "router/rebalancer.hpp"
#include "swarm/protocol/message.hpp"
#include "swarm/run/config.hpp"
#include "swarm/run/roster.hpp"

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace swarm::run {

class Placement {
 public:
    explicit Placement(const RunConfig& config);

    /// What `sender` sees of the peers of the next stage; slot {} is the coordinator.
    void note(SlotId sender, const std::vector<protocol::ObservedRate>& rates);

    /// The move of this period, when it is over.
    std::optional<router::Move> decide(const Roster& roster, TimePoint now);

    /// kNever when nothing ever moves.
    [[nodiscard]] TimePoint next_deadline() const { return due_; }

    /// For a newcomer; nothing: any rule will do, this run's rebalancer has none.
    [[nodiscard]] std::optional<StageIndex> place(const Roster& roster) const;

 private:
    /// One sender's view of one slot, since the period began.
    struct View {
        double queued_sum = 0;
        std::uint32_t count = 0;
        double units_per_s = 0;
    };

    [[nodiscard]] router::StageLoads loads(const Roster& roster) const;

    std::uint32_t stages_;
    Duration every_;
    std::unique_ptr<router::Rebalancer> rebalancer_;
    std::map<SlotId, std::map<SlotId, View>> views_;  // by the slot seen, then by the sender
    TimePoint due_ = kNever;
};

}  // namespace swarm::run
