// Rebalancer "swarm-alg2" moves one peer per period from the stage with the shortest queues to the
// stage with the longest; within its stage the mover has the shortest queue. A newcomer goes where
// the queues are longest.
// Invariant, threading: the same as in rebalancer.hpp. Cost: O(peers).
// Source: SWARM (arXiv 2301.11913) section 3.2 and appendix D, Algorithm 2.
// Deviations: one process decides for all, where in the source every peer follows the rule by
// itself. A stage without peers comes before every queue. Where queues are equal (most often:
// empty), the stage whose peers are faster together gives; the stage with the fewest peers gets the
// newcomer, also where some peer already comes to the longest queue: a queue says where peers are
// wanted, not how many.
#pragma once

#include "router/rebalancer.hpp"

namespace router {

class SwarmAlg2 final : public Rebalancer {
 public:
    std::vector<Move> rebalance(const StageLoads& loads, TimePoint now) override;
    [[nodiscard]] StageIndex place(const StageLoads& loads) const override;
};

}  // namespace router
