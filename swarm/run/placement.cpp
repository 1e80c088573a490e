#include "swarm/run/placement.hpp"

#include "swarm/protocol/limits.hpp"

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
    if (!rebalancer_ || !from) {
        return;
    }
    forget_gone(roster);
    for (const protocol::ObservedRate& rate : rates) {
        const protocol::SlotInfo* const seen = roster.find(rate.slot);
        if (seen && seen->stage.value == from->stage.value + 1) {
            note(sender, rate);
        }
    }
}

void Placement::note_own(
    const Roster& roster, const std::vector<protocol::ObservedRate>& rates, TimePoint now
) {
    own_look_due_ = now + kOwnLookEvery;
    forget_gone(roster);
    for (const protocol::ObservedRate& rate : rates) {
        if (roster.find(rate.slot)) {
            note(kOwn, rate);
        }
    }
}

void Placement::note(SlotId sender, const protocol::ObservedRate& rate) {
    View& view = views_[rate.slot][sender];
    view.queued_sum += std::min(rate.queued, kQueuedMax);
    ++view.count;
    view.units_per_s = rate.units_per_s;
}

void Placement::forget_gone(const Roster& roster) {
    if (roster_ == roster.number()) {
        return;
    }
    roster_ = roster.number();
    std::erase_if(views_, [&](const auto& entry) { return !roster.find(entry.first); });
    for (auto& [seen, senders] : views_) {
        std::erase_if(senders, [&](const auto& entry) {
            return entry.first != kOwn && !roster.find(entry.first);
        });
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
    for (const protocol::SlotInfo& info : roster.slots()) {
        if (info.standing != protocol::Standing::Member) {
            continue;
        }
        router::PeerLoad load{info.slot, 0, 0};
        if (const auto found = views_.find(info.slot); found != views_.end()) {
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
