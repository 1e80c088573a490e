// The flow of microbatches between two events of a FluidWorld, and the places where they wait.
#include "sim/fluid/fluid_world.hpp"
#include "swarm/base/units.hpp"
#include "swarm/coordinator/failure_detector.hpp"
#include "swarm/coordinator/placement.hpp"
#include "swarm/run/step_time.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace sim {
namespace {

using swarm::in_seconds;

constexpr double kSameWidth = 1e-9;  // relative: the difference that rounding may leave
constexpr double kPerPeerInFlight = 2;
// Hops from the last backward to the next step: parts of a sum and the result back, REDUCED; COMMIT
// travels with the first FORWARD. The step does not wait for the way back to the coordinator, which
// is part of the unhindered time. The replicas' bytes take sync_s_ more.
constexpr double kCommitHops = 2;
constexpr double kLegsPerEvent = 32;  // so that samples cost about as much as the events do
constexpr double kPartPerSample = 8;  // share of the ration
constexpr int kStepsPerSampleMax = 32;
// Weight of the newest step in the mean that stands in for a sample.
constexpr double kNewestStep = 1.0 / 8;
constexpr int kStepsLived = 64;
constexpr int kStepsToLearn = 5;
constexpr double kPairsMax = 1 << 21;  // neighbours: each has a rate meter for the other
constexpr double kPairsInCache = 1 << 14;
constexpr double kFarAwayS = 1e9;
constexpr double kMeanSyncS = 0.005;  // the mean of WorldOptions.sync_max's draws
// A coordinator waits so long for the link of a peer whose process has ended.
constexpr double kUnlinked_s =
    std::chrono::duration<double>(swarm::coordinator::FailureDetector::Timing{}.restore_link_within)
        .count();

}  // namespace

void FluidWorld::speed_changed(std::uint32_t number) {
    const Machine& one = machine(number);
    count_for_best(number);
    if (one.is_member) {
        has_changed_ = true;
        const std::uint32_t stage = one.stage.value;
        stages_[stage].change(*one.slot, flow_as_member(number));
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

// The same window as the coordinator's (swarm/coordinator/step_machine_phases.cpp), except that a
// step has no more microbatches to launch.
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

// Little's law: among the microbatches in flight, flow x unhindered time are being worked on or
// carried; the others wait where the pipeline is narrowest.
void FluidWorld::refresh() {
    legs_left_ = std::min(legs_left_ + kLegsPerEvent, kLegsMax);
    is_settled_ = false;
    if (!std::exchange(has_changed_, false)) {
        return;
    }
    is_fresh_ = false;
    const Pipeline& pipeline = scenario_.pipeline;
    double narrowest = std::numeric_limits<double>::infinity();
    unhindered_s_ = 2 * static_cast<double>(pipeline.stages) * latency_s_;
    for (const StageFlow& stage : stages_) {
        narrowest = std::min(narrowest, stage.capacity());
        unhindered_s_ += stage.compute_s() + stage.carry_s();
    }
    narrowest_ = narrowest;
    window_ = in_flight();
    reckon_sync();
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
}

// The slowest line of a stage decides how long its replicas take to become one again. Where one
// line is not bounded, the other one is.
void FluidWorld::reckon_sync() {
    const Pipeline& pipeline = scenario_.pipeline;
    const double part = pipeline.is_sparse() ? 1.0 / pipeline.steps_between_syncs() : 1;
    sync_s_ = 0;
    sync_bytes_ = 0;
    for (const StageFlow& stage : stages_) {
        const auto members = static_cast<std::uint32_t>(stage.members().size());
        for (const StageFlow::Member& member : stage.members()) {
            const FleetPeer& peer = peer_of(member.number);
            const auto up = static_cast<double>(peer.up_bytes_per_s);
            const auto down = static_cast<double>(peer.down_bytes_per_s);
            const double line = up == 0 || down == 0 ? std::max(up, down) : std::min(up, down);
            const double bytes =
                part * swarm::run::sync_bytes(pipeline.mode, pipeline.exchanged(), members, line);
            sync_bytes_ += bytes;
            sync_s_ = std::max(sync_s_, line > 0 ? bytes / line : 0);
        }
    }
}

double FluidWorld::flow() {
    settle();
    return flow_;
}

double FluidWorld::queued(std::uint32_t stage) {
    settle();
    return queued_[stage];
}

// Samples late, when time is about to pass: many events may happen at one moment.
void FluidWorld::settle() {
    if (is_settled_) {
        return;
    }
    is_settled_ = true;
    if (!is_fresh_ && can_sample()) {
        sample();
    }
    for (std::size_t stage = 0; stage < stages_.size() && !is_fresh_; ++stage) {
        for (const StageFlow::Member& member : stages_[stage].members()) {
            machine(member.number).queued = queued_[stage] * stages_[stage].share(member);
        }
    }
    slowness_ = is_fresh_ ? slowness_ : mean_slowness_;
    flow_ = flow_with_steps(narrowest_) / slowness_;
    commit_at_ = next_commit();
}

bool FluidWorld::can_sample() const {
    return narrowest_ > 0 && pairs() <= kPairsMax && legs_left_ >= price_of_step() &&
           step_model_.has_time();
}

double FluidWorld::pairs() const {
    double pairs = 0;
    for (std::size_t stage = 1; stage < stages_.size(); ++stage) {
        pairs += senders_to(stage) * static_cast<double>(stages_[stage].members().size());
    }
    return pairs;
}

// A leg takes longer when the rate meters do not fit into a cache.
double FluidWorld::price_of_step() const {
    const double legs = 2.0 * static_cast<double>(stages_.size()) * scenario_.pipeline.microbatches;
    return legs * (1 + pairs() / kPairsInCache);
}

// While the first half of the ration lasts, each step gets its own sample; after that a sample is
// the mean of a few steps, fewer as the ration dwindles, and is made when the stages change.
bool FluidWorld::samples_each_step() const {
    return legs_left_ > kLegsMax / 2;
}

// Routers know no peer's speed at first. A small fleet's ration lasts for the steps in which they
// learn; in a large fleet those steps do not enter the sample.
void FluidWorld::sample() {
    step_model_.set_stages(stages_);
    const bool lives_through = price_of_step() * kStepsLived <= kLegsMax;
    for (int step = 0; !sampled_ && !lives_through && step < kStepsToLearn; ++step) {
        step_model_.run(window_);
    }
    const double affordable =
        samples_each_step() ? 1 : legs_left_ / price_of_step() / kPartPerSample;
    const auto steps = static_cast<int>(std::clamp<double>(affordable, 1, kStepsPerSampleMax));
    std::fill(queued_.begin(), queued_.end(), 0);
    double step_s = 0;
    for (int step = 0; step < steps; ++step) {
        step_s += step_model_.run(window_) / steps;
        for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
            for (const StageFlow::Member& member : stages_[stage].members()) {
                Machine& one = machine(member.number);
                const double queued = step_model_.queued(member.number) / steps;
                one.queued = queued + (step > 0 ? one.queued : 0);
                queued_[stage] += queued;
            }
        }
    }
    legs_left_ -= steps * price_of_step();
    slowness_ = step_s * flow_with_steps(narrowest_) / scenario_.pipeline.microbatches;
    const double newest = sampled_ ? std::max(kNewestStep, std::min(1.0, steps * kNewestStep)) : 1;
    mean_slowness_ += newest * (slowness_ - mean_slowness_);
    sampled_ = true;
    is_fresh_ = true;
}

TimePoint FluidWorld::next_commit() const {
    if (flow_ <= 0) {
        return swarm::kNever;
    }
    constexpr double kRounding = 1e-6;  // in steps
    const double microbatches = scenario_.pipeline.microbatches;
    const double steps = std::floor(totals_.microbatches / microbatches + kRounding) + 1;
    const double left = steps * microbatches - totals_.microbatches + redo_;
    const double left_s = std::max(0.0, left / flow_);
    return left_s < kFarAwayS ? now_ + Duration(std::llround(std::ceil(left_s * 1e9)))
                              : swarm::kNever;
}

// A machine that is lost takes its sums of this step along, and the microbatches under way through
// it, half done on average. What is left of the step takes at least as long as it takes to notice
// the loss, to bring the lost microbatches to that stage again, and to begin the reduction anew.
void FluidWorld::lose_work_of(std::uint32_t number) {
    const Machine& one = machine(number);
    if (!one.is_member) {
        return;
    }
    const StageFlow& stage = stages_[one.stage.value];
    const double done = std::fmod(totals_.microbatches, scenario_.pipeline.microbatches);
    for (const StageFlow::Member& member : stage.members()) {
        if (member.number == number) {
            redo_ += stage.share(member) * (done + window_ / 2);
        }
    }
    const double left = scenario_.pipeline.microbatches - done;
    redo_ = std::max(redo_, flow_ * least_s_after_loss(one.stage) - left);
}

// Replays go forward through all stages, and backward as far as the stage that lost its sums.
double FluidWorld::least_s_after_loss(StageIndex stage) const {
    constexpr double kForwardShare = 1.0 / 3;
    double way_s = kUnlinked_s;
    for (std::uint32_t i = 0; i < stages_.size(); ++i) {
        const bool both_ways = i >= stage.value;
        const double carry_s = stages_[i].carry_s() + 2 * latency_s_;
        way_s += stages_[i].compute_s() * (both_ways ? 1 : kForwardShare);
        way_s += both_ways ? carry_s : carry_s / 2;
    }
    return way_s + commit_s();
}

// Returns the time from the last gradient of a step to its commit.
double FluidWorld::commit_s() const {
    return kCommitHops * latency_s_ + kMeanSyncS + sync_s_;
}

// A step ends with an empty pipeline. Its time is m microbatches at the rate of the narrowest
// stage, plus the way of one microbatch through all the other stages (the bubble of 1F1B), plus the
// commit.
double FluidWorld::flow_with_steps(double narrowest) const {
    if (narrowest <= 0) {
        return 0;
    }
    const double microbatches = scenario_.pipeline.microbatches;
    const double by_work = microbatches / narrowest + unhindered_s_ - narrow_compute_s_;
    const double by_window = microbatches * unhindered_s_ / window_;
    const double step_s = std::max(by_work, by_window) + commit_s();
    return microbatches / step_s;
}

void FluidWorld::flow_until(TimePoint until) {
    const double duration_s = in_seconds(until - now_);
    if (duration_s <= 0) {
        return;
    }
    settle();
    now_ = until;
    // The rule for the best placement is not exact for unequal peers: a flow that is reached is
    // possible. Queues are assumed to cost the same share there.
    best_flow_ = std::max(flow_, flow_with_steps(best_.narrowest()) / slowness_);
    const double microbatches = flow_ * duration_s;
    const double again = std::min(redo_, microbatches);
    redo_ -= again;
    totals_.microbatches += microbatches - again;
    totals_.best_microbatches += best_flow_ * duration_s;
    totals_.up_s += up_ * duration_s;
    totals_.bytes += microbatches * 2 * (static_cast<double>(stages_.size()) - 1) *
                     static_cast<double>(scenario_.pipeline.activation_bytes);
    totals_.bytes += microbatches / scenario_.pipeline.microbatches * sync_bytes_;
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
        const double busy_s = microbatches * stages_[stage].compute_s();
        const auto peers =
            static_cast<double>(stages_[stage].members().size() + observers_[stage].size());
        totals_.busy_s += busy_s;
        totals_.busy_s_per_stage[stage] += busy_s;
        totals_.up_s_per_stage[stage] += peers * duration_s;
        const double senders = senders_to(stage);
        for (const StageFlow::Member& member : stages_[stage].members()) {
            Machine& one = machine(member.number);
            one.queued_s += senders > 0 ? one.queued / senders * duration_s : 0;
            one.present_s += duration_s;
        }
    }
}

double FluidWorld::senders_to(std::size_t stage) const {
    return stage == 0 ? 1 : static_cast<double>(stages_[stage - 1].members().size());
}

void FluidWorld::begin_period() {
    for (Machine& one : machines_) {
        one.queued_s = 0;
        one.present_s = 0;
    }
}

// Computes loads like swarm::coordinator::Placement: the sum over all senders of the mean of the
// queue that each saw. Machines that stand still are left out: they could not follow a move.
router::StageLoads FluidWorld::mean_loads() {
    router::StageLoads loads(stages_.size());
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
        loads[stage].units_per_microbatch = units_per_microbatch(scenario_.pipeline);
        loads[stage].join_s = join_s_;
        for (const StageFlow::Member& member : stages_[stage].members()) {
            const Machine& one = machine(member.number);
            if (member.weight > 0) {
                const double seen = one.present_s > 0 ? one.queued_s / one.present_s : 0;
                const double queued = seen * senders_to(stage);
                const bool is_leased = now_ < one.leased_until;
                loads[stage].peers.push_back(
                    {member.slot, queued, member.flow.units_per_s, false, is_leased}
                );
            }
        }
    }
    add_arriving(loads);
    return loads;
}

// The rate of a mover was measured at its former stage; a newcomer's rate is not known.
void FluidWorld::add_arriving(router::StageLoads& loads) const {
    for (const std::vector<SlotId>& slots : observers_) {
        for (const SlotId slot : slots) {
            const auto number = static_cast<std::uint32_t>(roster_.find(slot)->peer.words[0]);
            const Machine& one = machines_[number - 1];
            const StageIndex stage = one.moves_to.value_or(one.stage);
            const bool is_leased = now_ < one.leased_until;
            const PeerFlow flow =
                flow_of(peer_of(number), speed_of(one), scenario_.pipeline, stage.value);
            if (!one.frozen) {
                const double units_per_s = is_leased ? flow.units_per_s : 0;
                loads[stage.value].peers.push_back({slot, 0, units_per_s, true, is_leased});
            }
        }
    }
}

double FluidWorld::mean_join_s() const {
    double seconds = 0;
    for (const FleetPeer& peer : schedule_.fleet) {
        double longest_s = 0;
        for (const std::uint64_t bytes_per_s : {peer.up_bytes_per_s, peer.down_bytes_per_s}) {
            if (bytes_per_s > 0) {
                longest_s =
                    std::max(longest_s, download_bytes() / static_cast<double>(bytes_per_s));
            }
        }
        seconds += longest_s;
    }
    const auto peers = static_cast<double>(std::max<std::size_t>(1, schedule_.fleet.size()));
    return seconds / peers + swarm::coordinator::kWarmUp_s;
}

}  // namespace sim
