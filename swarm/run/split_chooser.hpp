// `split = "measured"`: says when the stages of a run should get other layers. Equal parameters are
// a guess; devices differ, and slow down. The members of a stage share its microbatches; the split
// is best when the longest time that a stage takes for one so is least. Peers stay where they are:
// to move them is the rebalancer's business, and cheaper.
// Invariant: some other split was better at every commit of kSeenFor, by kBetterBy, and paid for
// the download of all states before the run ends; the last of them is taken. No stage gets more
// than the least of its members lends; who says no bound gets kGrowthMax times the largest of now.
// Threading: single strand. Cost: split_layers() per commit, a few ms at most.
// Source: PipeDream (arXiv 1806.03377) section 3.1 for the split; the hysteresis is ours.
#pragma once

#include "swarm/run/run_context.hpp"
#include "swarm/run/self_measures.hpp"

#include <cstdint>
#include <vector>

namespace swarm::run {

class SplitChooser {
 public:
    /// Call at each commit. Layers of each stage; empty: it shall stay as it is, at least for now.
    std::vector<std::uint32_t> next(
        const RunContext& context, const SelfMeasures& measures, TimePoint now
    );

    /// It could not be done: it has to prove itself anew.
    void forget() { better_since_ = kNever; }

 private:
    static constexpr Duration kSeenFor = std::chrono::seconds(30);
    static constexpr double kBetterBy = 1.2;
    static constexpr double kGrowthMax = 2;

    TimePoint better_since_ = kNever;  // another split, at every commit
};

}  // namespace swarm::run
