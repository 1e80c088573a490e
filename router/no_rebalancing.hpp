// Rebalancer "none": nobody moves. A newcomer goes to the stage with the fewest peers, as the
// coordinator places it (swarm/run/coordinator_membership.cpp). The baseline of experiments.
// Invariant, threading: as rebalancer.hpp. Cost: O(stages).
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
