#include "swarm/run/placement.hpp"

namespace swarm::run {

Placement::Placement(const RunConfig& config)
    : stages_(config.stages), every_(std::chrono::seconds(config.rebalance_every_s)) {
    if (config.rebalancer != "none") {
        rebalancer_ = router::make_rebalancer(config.rebalancer);
        due_ = kAtOnce;
    }
}

void Placement::note(SlotId sender, const std::vector<protocol::ObservedRate>& rates) {
    if (!rebalancer_) {
        return;
    }
    for (const protocol::ObservedRate& rate : rates) {
        View& view = views_[rate.slot][sender];
        view.queued_sum += rate.queued;
        ++view.count;
        view.units_per_s = rate.units_per_s;
    }
}

std::optional<router::Move> Placement::decide(const Roster& roster, TimePoint now) {
    if (!rebalancer_ || now < due_) {
        return std::nullopt;
    }
    const bool first = due_ == kAtOnce;  // the first period begins with the first look
    due_ = now + every_;
    if (first) {
        return std::nullopt;
    }
    std::optional<router::Move> move = rebalancer_->rebalance(loads(roster), now);
    views_.clear();
    return move;
}

std::optional<StageIndex> Placement::place(const Roster& roster) const {
    if (!rebalancer_) {
        return std::nullopt;
    }
    return rebalancer_->place(loads(roster));
}

router::StageLoads Placement::loads(const Roster& roster) const {
    router::StageLoads loads(stages_);
    for (const auto& [slot, info] : roster.slots()) {
        if (info.standing != protocol::Standing::Member) {
            continue;
        }
        router::PeerLoad load{slot, 0, 0};
        if (const auto found = views_.find(slot); found != views_.end()) {
            for (const auto& [sender, view] : found->second) {
                load.queued += view.queued_sum / view.count;
                load.units_per_s += view.units_per_s;
            }
        }
        loads[info.stage.value].push_back(load);
    }
    return loads;
}

}  // namespace swarm::run
