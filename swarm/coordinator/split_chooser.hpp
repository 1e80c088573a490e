// Says when the stages of a run should get other layers, for `split = "measured"`. Equal parameters
// are a guess, because devices differ and slow down. The members of a stage divide its microbatches
// among them; the best split is the one whose slowest stage is fastest. Peers stay in their stages:
// the rebalancer moves them, which is cheaper.
// Invariants: at every commit of kSeenFor another split was better by kBetterBy and paid for the
// download of all states before the run ends; the last such split is taken. No stage gets more than
// the least of its members lends; a member without a bound gets kGrowthMax times the largest stage.
// Threading: single strand. Cost: split_layers() per commit, a few ms at most.
// Source: PipeDream (arXiv 1806.03377) section 3.1 for the split; the hysteresis is ours.
#pragma once

#include "swarm/coordinator/member_rates.hpp"
#include "swarm/coordinator/run_context.hpp"

#include <cstdint>
#include <vector>

namespace swarm::coordinator {

class SplitChooser {
 public:
    /// The layers of each stage by a better split; empty when the split should stay for now. Call
    /// it at each commit of a version that all replicas share.
    std::vector<std::uint32_t> next(
        const RunContext& context, const SelfMeasures& measures, TimePoint now
    );

    /// The split could not be changed, so another one must be better for kSeenFor again.
    void forget() { better_since_ = kNever; }

 private:
    static constexpr Duration kSeenFor = std::chrono::seconds(30);
    static constexpr double kBetterBy = 1.2;
    static constexpr double kGrowthMax = 2;

    TimePoint better_since_ = kNever;  // another split was better at every commit since then
};

}  // namespace swarm::coordinator
