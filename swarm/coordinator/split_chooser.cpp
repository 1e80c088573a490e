#include "swarm/coordinator/split_chooser.hpp"

#include "swarm/coordinator/placement.hpp"
#include "swarm/run/layer_split.hpp"
#include "swarm/run/layer_work.hpp"
#include "swarm/run/memory_plan.hpp"
#include "swarm/run/versions.hpp"

#include <algorithm>
#include <limits>

namespace swarm::coordinator {
namespace {

/// Seconds per microbatch of all members of a stage together; 0 when no member has been measured. A
/// member without a measurement counts like the others.
double microbatch_s(const std::vector<SlotId>& members, const SelfMeasures& measures) {
    double rate = 0;
    double measured = 0;
    for (const SlotId slot : members) {
        if (const protocol::SelfMeasured* const own = measures.find(slot)) {
            rate += 1 / own->microbatch_s;
            ++measured;
        }
    }
    return measured == 0 ? 0 : measured / (rate * static_cast<double>(members.size()));
}

double work_of(const std::vector<double>& layers, std::uint32_t first, std::uint32_t count) {
    double work = 0;
    for (std::uint32_t i = first; i < first + count; ++i) {
        work += layers[i];
    }
    return work;
}

double longest_s(
    const std::vector<std::uint32_t>& split,
    const std::vector<double>& layers,
    const std::vector<double>& work_per_s
) {
    double longest = 0;
    std::uint32_t first = 0;
    for (std::size_t stage = 0; stage < split.size(); ++stage) {
        longest = std::max(longest, work_of(layers, first, split[stage]) / work_per_s[stage]);
        first += split[stage];
    }
    return longest;
}

/// Seconds of a change of the split, in which all peers load their new states from the coordinator.
double cut_s(const RunContext& context) {
    double bytes = 0;
    for (const run::StageLayout& layout : context.layouts) {
        const std::size_t members = context.roster.members(layout.stage).size();
        bytes += static_cast<double>(
            run::MemoryPlan::kStateBytesPerParameter * layout.elements() * members
        );
    }
    return bytes / kAssumedBytesPerS + kWarmUp_s;
}

double microbatches_left(const RunContext& context) {
    const std::uint64_t steps = context.config.steps;
    const std::uint64_t done = run::steps_before(context.config, context.version.step);
    const std::uint64_t left = steps - std::min(done, steps);
    return static_cast<double>(left) * context.config.microbatches;
}

/// Bytes that `parameters` parameters take at a member.
std::uint64_t member_bytes(const run::RunConfig& config, std::uint64_t parameters) {
    const std::uint64_t more =
        config.mode == run::SyncMode::Sparse ? run::MemoryPlan::kSparseBytesPerParameter : 0;
    return run::MemoryPlan(0, {}, parameters, 0, more * parameters).needed_bytes(1);
}

/// Bytes for the parameters of each stage: the least that one of its members lends. A member
/// without a bound counts as `growth` times the largest present stage.
std::vector<std::uint64_t> memory_caps(const RunContext& context, double growth) {
    std::uint64_t largest = 0;
    for (const run::StageLayout& layout : context.layouts) {
        largest = std::max(largest, member_bytes(context.config, layout.elements()));
    }
    const auto unsaid = static_cast<std::uint64_t>(growth * static_cast<double>(largest));
    std::vector<std::uint64_t> caps;
    for (const run::StageLayout& layout : context.layouts) {
        const std::uint64_t needed = run::MemoryPlan(0, context.config, layout).needed_bytes(1);
        const std::uint64_t others = needed - member_bytes(context.config, layout.elements());
        std::uint64_t cap = std::numeric_limits<std::uint64_t>::max();
        for (const SlotId slot : context.roster.members(layout.stage)) {
            const std::uint64_t lent =
                context.peer_streams.lent_memory(context.roster.find(slot)->peer);
            cap = std::min(cap, lent == 0 ? unsaid : lent - std::min(lent, others));
        }
        caps.push_back(cap);
    }
    return caps;
}

}  // namespace

std::vector<std::uint32_t> SplitChooser::next(
    const RunContext& context, const SelfMeasures& measures, TimePoint now
) {
    if (context.config.split != run::SplitMode::Measured) {
        return {};
    }
    const std::vector<double> work = run::layer_work(context.config);
    std::vector<double> work_per_s;
    for (const run::StageLayout& layout : context.layouts) {
        const double takes_s = microbatch_s(context.roster.members(layout.stage), measures);
        if (takes_s == 0) {
            forget();
            return {};
        }
        work_per_s.push_back(work_of(work, layout.first_layer, layout.layers) / takes_s);
    }
    const std::vector<std::uint64_t> elements = run::layer_elements(context.config);
    std::vector<run::LayerCost> costs;
    for (std::size_t layer = 0; layer < work.size(); ++layer) {
        costs.push_back({work[layer], member_bytes(context.config, elements[layer])});
    }
    const auto split = run::split_layers(
        costs, context.config.stages, memory_caps(context, kGrowthMax), work_per_s
    );
    // Absurd measurements make infinite times, whose difference is no number; then no split pays.
    const double now_s = longest_s(run::layers_of(context.layouts), work, work_per_s);
    const double then_s = split ? longest_s(*split, work, work_per_s) : now_s;
    const double won_s = (now_s - then_s) * microbatches_left(context);
    const bool pays = split && now_s >= kBetterBy * then_s && won_s >= cut_s(context);
    if (!pays) {
        forget();
        return {};
    }
    better_since_ = std::min(better_since_, now);
    return now - better_since_ >= kSeenFor ? *split : std::vector<std::uint32_t>();
}

}  // namespace swarm::coordinator
