// Rebalancer "capacity": the pipeline is as fast as the stage with the least capacity, the sum of
// its peers' observed rates over what a microbatch costs there. Each period it plans the moves that
// level the stages, from the strongest to the weakest, and makes as many of them as pay: what they
// add to the throughput within kHorizon_s must exceed the time that the movers do not work.
// Invariant: as rebalancer.hpp. A stage gives only what leaves it stronger than the weakest was;
// peers that arrive count where they go, so a hole is not filled twice; a gain below kGainMin is
// not worth a move, and nobody is moved twice while leased: constant load settles.
// Who was never measured counts as the mean of all others.
// Threading: as rebalancer.hpp. Cost: O(peers) per planned move, of kPlannedMax at most.
// Source: own; single moves of largest-to-weakest, as for "scheduling on identical machines".
#pragma once

#include "router/rebalancer.hpp"

namespace router {

class Capacity final : public Rebalancer {
 public:
    std::vector<Move> rebalance(const StageLoads& loads, TimePoint now) override;

    [[nodiscard]] bool answers_losses() const override { return true; }

    /// The stage that limits the run. Of stages that are equally weak, the one whose state arrives
    /// first: the same throughput for fewer seconds of download.
    [[nodiscard]] StageIndex place(const StageLoads& loads) const override;
};

}  // namespace router
