// The fleet of a StepModel, its steps, and what its coordinator does.
#include "sim/fluid/step_model.hpp"

#include "sim/peer.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/units.hpp"

#include <algorithm>
#include <cmath>

namespace sim {
namespace {

using swarm::in_seconds;

constexpr std::uint64_t kJitterStream = 0x5717;
constexpr double kForwardShare = 1.0 / 3;
constexpr double kForwardMaxS = 1e5;  // bounds the longest step: see has_time()

}  // namespace

StepModel::StepModel(
    const Scenario& scenario, const std::vector<FleetPeer>& fleet, std::uint64_t seed
)
    : scenario_(scenario),
      fleet_(fleet),
      seed_(seed),
      jitter_(seed, kJitterStream),
      request_{scenario.pipeline.work_units, 1, {}},  // bytes: one tensor, whatever it weighs
      workers_(fleet.size() + 1),
      stages_(scenario.pipeline.stages) {
    for (const FleetPeer& machine : fleet) {
        workers_[machine.number].down = Pipe(machine.down_bytes_per_s);
    }
    workers_[kCoordinator].router = std::make_unique<router::HopRouter>(
        router::make_policy(scenario.pipeline.policy, seed), router::HopRouter::Options{}
    );
}

void StepModel::set_stages(const std::vector<StageFlow>& stages) {
    for (std::uint32_t stage = 0; stage < stages.size(); ++stage) {
        std::vector<SlotId> members;
        for (const StageFlow::Member& member : stages[stage].members()) {
            if (member.weight > 0) {
                members.push_back({member.number});
                Worker& worker = workers_[member.number];
                worker.forward_s = std::min(member.flow.compute_s * kForwardShare, kForwardMaxS);
                worker.up.set_rate(member.flow.up_bytes_per_s, now_);
            }
        }
        std::sort(members.begin(), members.end());
        seat(stage, members);
    }
    show(0, kCoordinator);
    for (std::uint32_t stage = 1; stage < stages.size(); ++stage) {
        for (const SlotId sender : stages_[stage - 1]) {
            show(stage, static_cast<std::uint32_t>(sender.value));
        }
    }
}

// A machine that is new in a stage knows no other machine yet.
void StepModel::seat(std::uint32_t stage, const std::vector<SlotId>& members) {
    for (const SlotId slot : members) {
        Worker& worker = workers_[slot.value];
        const bool was_here =
            std::binary_search(stages_[stage].begin(), stages_[stage].end(), slot);
        if (!was_here) {
            const std::uint64_t seed = swarm::mix_bits(seed_ ^ peer(slot.value).words[0]);
            worker.stage = stage;
            worker.router = std::make_unique<router::HopRouter>(
                router::make_policy(scenario_.pipeline.policy, seed), router::HopRouter::Options{}
            );
        }
    }
    stages_[stage] = members;
}

void StepModel::show(std::uint32_t stage, std::uint32_t sender) {
    router::HopRouter& router = *workers_[sender].router;
    router.set_candidates(stages_[stage], now_);
    for (const SlotId slot : stages_[stage]) {
        router.set_linked(slot, true, now_);
    }
}

double StepModel::run(double window) {
    const TimePoint began = now_;
    window_ = static_cast<std::uint32_t>(window);
    forget_step();
    launch();
    while (!events_.empty()) {
        now_ = events_.next_time();
        handle(events_.pop());
    }
    SWARM_ASSERT(launched_ == scenario_.pipeline.microbatches && in_flight_ == 0);
    now_ = std::max(now_, committed_at());
    const double took_s = in_seconds(now_ - began);
    for (const auto& members : stages_) {
        for (const SlotId slot : members) {
            workers_[slot.value].queued_s /= took_s;
        }
    }
    return took_s;
}

void StepModel::forget_step() {
    ++step_;
    launched_ = 0;
    path_.assign(std::size_t{scenario_.pipeline.microbatches} * stages_.size(), 0);
    offered_at_.assign(path_.size(), {});
    paths_ = 0;
    syncs_.assign(stages_.size(), {});
    for (const auto& members : stages_) {
        for (const SlotId slot : members) {
            workers_[slot.value].due = 0;
            workers_[slot.value].queued_s = 0;
            workers_[slot.value].busy_s = 0;
        }
    }
}

void StepModel::launch() {
    while (in_flight_ < window_ && launched_ < scenario_.pipeline.microbatches) {
        const Leg leg{launched_, false};
        const auto slot = workers_[kCoordinator].router->pick(id_of(leg), request_, now_);
        if (!slot) {
            return;  // the coordinator goes on when a leg is passed on
        }
        offer(kCoordinator, 0, leg, *slot);
        ++launched_;
        ++in_flight_;
    }
}

Duration StepModel::least_latency(std::uint32_t from, std::uint32_t to) const {
    if (scenario_.regions.latency.empty()) {
        return {};
    }
    const auto region = [&](std::uint32_t number) {
        return number == kCoordinator ? 0 : fleet_[number - 1].region;
    };
    return scenario_.regions.latency[region(from)][region(to)];
}

Duration StepModel::mean_latency(std::uint32_t from, std::uint32_t to) const {
    const double mean_s = in_seconds(least_latency(from, to)) * (1 + scenario_.regions.jitter / 2);
    return Duration(std::llround(mean_s * 1e9));
}

// Without differences from frame to frame equal peers would tie for ever.
Duration StepModel::latency(std::uint32_t from, std::uint32_t to) {
    const Duration least = least_latency(from, to);
    const double spread_s = in_seconds(least) * scenario_.regions.jitter;
    const auto spread = static_cast<std::uint64_t>(std::llround(spread_s * 1e9));
    return least + (spread > 0 ? Duration(jitter_.below(spread + 1)) : Duration{});
}

router::LegId StepModel::id_of(const Leg& leg) const {
    return {{0, step_}, {leg.microbatch}, {1}, swarm::protocol::Leg::Forward};
}

}  // namespace sim
