// Rebalancer "capacity": the pipeline is as fast as the stage with the least capacity, which is the
// sum of its peers' observed rates divided by the units that a microbatch costs there. Each period
// it plans the moves that level the stages, from the strongest to the weakest, and makes as many of
// them as pay: the throughput that the moves add within kHorizon_s must exceed the time that the
// movers do not work.
// Invariant: the same as in rebalancer.hpp. A giving stage stays stronger than the weakest was;
// peers that arrive count where they go, so a hole is not filled twice; a gain below kGainMin is
// not worth a move, and no peer is moved twice while leased: constant load settles. A peer that was
// never measured counts as the mean of all others.
// Threading: the same as in rebalancer.hpp. Cost: O(peers) per planned move, of kPlannedMax at
// most.
// Source: own; single moves of largest-to-weakest, as for "scheduling on identical machines".
#pragma once

#include "router/rebalancer.hpp"

namespace router {

class Capacity final : public Rebalancer {
 public:
    std::vector<Move> rebalance(const StageLoads& loads, TimePoint now) override;

    [[nodiscard]] bool answers_losses() const override { return true; }

    /// Returns the stage that limits the run. Among equally weak stages it is the one whose state
    /// arrives first: the same throughput for fewer seconds of download.
    [[nodiscard]] StageIndex place(const StageLoads& loads) const override;
};

}  // namespace router
