// What flows between two events of a FluidWorld, and where it waits.
#include "sim/fluid/fluid_world.hpp"

#include <algorithm>
#include <limits>

namespace sim {
namespace {

constexpr double kSameWidth = 1e-9;  // relative: what rounding may part
constexpr double kPerPeerInFlight = 2;
// From the last backward to the next step: parts of a sum and the result back, REDUCED; COMMIT
// travels with the first FORWARD. The way back to the coordinator, part of the unhindered time, is
// not waited for.
constexpr double kCommitHops = 2;
constexpr double kMeanSyncS = 0.005;  // as WorldOptions.sync_max has it

double in_seconds(Duration duration) {
    return std::chrono::duration<double>(duration).count();
}

}  // namespace

void FluidWorld::speed_changed(std::uint32_t number) {
    const Machine& one = machine(number);
    count_for_best(number);
    if (one.is_member) {
        const std::uint32_t stage = one.stage.value;
        stages_[stage].change(
            *one.slot, flow_of(peer_of(number), speed_of(one), scenario_.pipeline, stage)
        );
    }
}

void FluidWorld::count_for_best(std::uint32_t number) {
    Machine& one = machine(number);
    if (one.counted_as) {
        best_.remove(*one.counted_as);
        one.counted_as.reset();
    }
    if (one.up && !one.frozen) {
        one.counted_as = kind_of(peer_of(number), speed_of(one), scenario_.pipeline);
        best_.add(*one.counted_as);
    }
}

// As the coordinator's window (swarm/run/step_machine_phases.cpp); a step has no more to launch.
double FluidWorld::in_flight() const {
    const Pipeline& pipeline = scenario_.pipeline;
    double members = 0;
    for (const StageFlow& stage : stages_) {
        members += static_cast<double>(stage.members().size());
    }
    const double window =
        pipeline.in_flight > 0 ? pipeline.in_flight : std::max(2.0, kPerPeerInFlight * members);
    return std::min<double>(window, pipeline.microbatches);
}

// Little's law: of the microbatches in flight, flow x unhindered time are being worked on or
// carried; the others wait, and they wait where the pipeline is narrowest.
void FluidWorld::refresh() {
    const Pipeline& pipeline = scenario_.pipeline;
    double narrowest = std::numeric_limits<double>::infinity();
    unhindered_s_ = 2 * static_cast<double>(pipeline.stages) * latency_s_;
    for (const StageFlow& stage : stages_) {
        narrowest = std::min(narrowest, stage.capacity());
        unhindered_s_ += stage.compute_s() + stage.carry_s();
    }
    window_ = in_flight();
    flow_within_step_ = std::min(narrowest, window_ / unhindered_s_);
    const double waiting = std::max(0.0, window_ - flow_within_step_ * unhindered_s_);
    double narrow_stages = 0;
    narrow_compute_s_ = 0;
    for (const StageFlow& stage : stages_) {
        if (stage.capacity() <= narrowest * (1 + kSameWidth)) {
            ++narrow_stages;
            narrow_compute_s_ = std::max(narrow_compute_s_, stage.compute_s());
        }
    }
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
        const bool narrow = stages_[stage].capacity() <= narrowest * (1 + kSameWidth);
        queued_[stage] = narrow ? waiting / narrow_stages : 0;
    }
    flow_ = flow_with_steps(narrowest);
}

// A step ends with an empty pipeline: to m microbatches at the rate of the narrowest stage come the
// way of one through all the others (the bubble of 1F1B), and what the commit takes.
double FluidWorld::flow_with_steps(double narrowest) const {
    if (narrowest <= 0) {
        return 0;
    }
    const double microbatches = scenario_.pipeline.microbatches;
    const double by_work = microbatches / narrowest + unhindered_s_ - narrow_compute_s_;
    const double by_window = microbatches * unhindered_s_ / window_;
    const double step_s = std::max(by_work, by_window) + kCommitHops * latency_s_ + kMeanSyncS;
    return microbatches / step_s;
}

void FluidWorld::flow_until(TimePoint until) {
    const double duration_s = in_seconds(until - now_);
    now_ = until;
    if (duration_s <= 0) {
        return;
    }
    // The rule for the best placement is not exact for unequal peers: what is reached is possible.
    best_flow_ = std::max(flow_, flow_with_steps(best_.narrowest()));
    const double microbatches = flow_ * duration_s;
    totals_.microbatches += microbatches;
    totals_.best_microbatches += best_flow_ * duration_s;
    totals_.up_s += up_ * duration_s;
    totals_.bytes += microbatches * 2 * (static_cast<double>(stages_.size()) - 1) *
                     static_cast<double>(scenario_.pipeline.activation_bytes);
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
        const double busy_s = microbatches * stages_[stage].compute_s();
        const auto peers =
            static_cast<double>(stages_[stage].members().size() + observers_[stage].size());
        totals_.busy_s += busy_s;
        totals_.busy_s_per_stage[stage] += busy_s;
        totals_.up_s_per_stage[stage] += peers * duration_s;
        queued_s_[stage] += queued_[stage] * duration_s;
    }
}

router::StageLoads FluidWorld::loads_for_placing() const {
    router::StageLoads loads(stages_.size());
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
        loads[stage].reserve(stages_[stage].members().size() + observers_[stage].size());
        for (const StageFlow::Member& member : stages_[stage].members()) {
            const double queued = queued_[stage] * stages_[stage].share(member);
            loads[stage].push_back({member.slot, queued, member.flow.units_per_s});
        }
    }
    // Who is on the way to a stage counts there, or all newcomers of a moment would go to one.
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
        auto& peers = loads[stage];
        const auto members = static_cast<std::ptrdiff_t>(peers.size());
        for (const SlotId slot : observers_[stage]) {
            peers.push_back({slot});
        }
        std::inplace_merge(
            peers.begin(),
            peers.begin() + members,
            peers.end(),
            [](const router::PeerLoad& a, const router::PeerLoad& b) { return a.slot < b.slot; }
        );
    }
    return loads;
}

// Without those that stand still: they could not follow.
router::StageLoads FluidWorld::mean_loads() const {
    const double period_s = in_seconds(now_ - period_began_);
    router::StageLoads loads(stages_.size());
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
        const double queued = period_s > 0 ? queued_s_[stage] / period_s : queued_[stage];
        for (const StageFlow::Member& member : stages_[stage].members()) {
            if (member.weight > 0) {
                loads[stage].push_back(
                    {member.slot, queued * stages_[stage].share(member), member.flow.units_per_s}
                );
            }
        }
    }
    return loads;
}

}  // namespace sim
