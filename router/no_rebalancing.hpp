// Rebalancer "none", the baseline of experiments: no peer moves. A newcomer goes to the stage with
// the fewest peers, like the coordinator's own placing
// (swarm/coordinator/coordinator_membership.cpp).
// Invariant, threading: as in rebalancer.hpp. Cost: O(stages).
#pragma once

#include "router/rebalancer.hpp"

namespace router {

class NoRebalancing final : public Rebalancer {
 public:
    std::vector<Move> rebalance(const StageLoads& /*loads*/, TimePoint /*now*/) override {
        return {};
    }

    [[nodiscard]] StageIndex place(const StageLoads& loads) const override;
};

}  // namespace router
