#include "swarm/run/placement.hpp"

#include "swarm/protocol/limits.hpp"
#include "swarm/run/observed_rates.hpp"

#include <algorithm>

namespace swarm::run {
namespace {

/// As often as peers tell theirs.
constexpr Duration kOwnLookEvery = std::chrono::seconds(2);
/// The slot that stands for the coordinator as a sender.
constexpr SlotId kOwn{};
/// No honest sender has more at one peer.
constexpr double kQueuedMax = protocol::kOffersPerReceiverMax;

}  // namespace

Placement::Placement(const RunConfig& config)
    : stages_(config.stages), every_(std::chrono::seconds(config.rebalance_every_s)) {
    if (config.rebalancer != "none") {
        rebalancer_ = router::make_rebalancer(config.rebalancer);
        due_ = kAtOnce;
    }
}

void Placement::note(
    const Roster& roster, SlotId sender, const std::vector<protocol::ObservedRate>& rates
) {
    const protocol::SlotInfo* const from = roster.find(sender);
    if (rebalancer_ && from) {
        note(sender, roster.slots_of({from->stage.value + 1}), rates);
    }
}

void Placement::note_own(
    const Roster& roster, const std::vector<protocol::ObservedRate>& rates, TimePoint now
) {
    own_look_due_ = now + kOwnLookEvery;
    note(kOwn, roster.slots_of({0}), rates);
}

void Placement::note(
    SlotId sender, std::span<const SlotId> stage, const std::vector<protocol::ObservedRate>& rates
) {
    Views& views = views_[sender];
    auto view = views.begin();
    for_each_rate(rates, stage, [&](const protocol::ObservedRate& rate) {
        while (view != views.end() && view->seen < rate.slot) {
            ++view;
        }
        if (view == views.end() || view->seen != rate.slot) {
            view = views.insert(view, View{rate.slot});
        }
        view->queued_sum += std::min(rate.queued, kQueuedMax);
        ++view->count;
        view->units_per_s = rate.units_per_s;
    });
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
    std::map<SlotId, router::PeerLoad> seen;
    for (const auto& [sender, views] : views_) {
        if (sender != kOwn && !roster.find(sender)) {
            continue;
        }
        for (const View& view : views) {
            router::PeerLoad& load = seen[view.seen];
            load.queued += view.queued_sum / view.count;
            load.units_per_s += view.units_per_s;
        }
    }
    router::StageLoads loads(stages_);
    for (const protocol::SlotInfo& info : roster.slots()) {
        if (info.standing == protocol::Standing::Member) {
            router::PeerLoad& load = seen[info.slot];
            load.slot = info.slot;
            loads[info.stage.value].push_back(load);
        }
    }
    return loads;
}

}  // namespace swarm::run
