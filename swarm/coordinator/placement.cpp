#include "swarm/coordinator/placement.hpp"

#include "swarm/coordinator/member_rates.hpp"
#include "swarm/protocol/limits.hpp"
#include "swarm/run/memory_plan.hpp"

#include <algorithm>
#include <utility>

namespace swarm::coordinator {
namespace {

/// The period of a peer's heartbeats.
constexpr Duration kOwnLookEvery = std::chrono::seconds(2);
/// The slot that stands for the coordinator as a sender.
constexpr SlotId kOwn{};
/// No honest sender has more microbatches at one peer.
constexpr double kQueuedMax = protocol::kOffersPerReceiverMax;
/// Weight of the newest download in the mean.
constexpr double kNewest = 0.5;

using protocol::Standing;

}  // namespace

Placement::Placement(const run::RunConfig& config, const std::vector<run::StageLayout>& layouts)
    : every_(std::chrono::seconds(config.rebalance_every_s)), members_(config.stages, 0) {
    for (const run::StageLayout& layout : layouts) {
        router::StageLoad& stage = empty_stages_.emplace_back();
        stage.units_per_microbatch = run::units_per_microbatch(config, layout);
        const auto bytes =
            static_cast<double>(run::MemoryPlan::kStateBytesPerParameter * layout.parameters());
        stage.join_s = bytes / kAssumedBytesPerS + kWarmUp_s;
        stage.needs_bytes = run::MemoryPlan(0, config, layout).needed_bytes(1);
    }
    if (!config.rebalancer.is_none()) {
        rebalancer_ = router::make_rebalancer(config.rebalancer);
        due_ = kAtOnce;
    }
}

void Placement::note(
    const run::Roster& roster, SlotId sender, const std::vector<protocol::ObservedRate>& rates
) {
    const protocol::SlotInfo* const from = roster.find(sender);
    if (rebalancer_ && from) {
        note(sender, roster.slots_of({from->stage.value + 1}), rates);
    }
}

void Placement::note_own(
    const run::Roster& roster, const std::vector<protocol::ObservedRate>& rates, TimePoint now
) {
    own_look_due_ = now + kOwnLookEvery;
    note(kOwn, roster.slots_of({0}), rates);
    watch_arrivals(roster, now);
    watch_losses(roster, now);
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
        view->units_per_s = std::max(view->units_per_s, rate.units_per_s);
    });
}

void Placement::watch_arrivals(const run::Roster& roster, TimePoint now) {
    std::map<PeerId, Arrival> still;
    for (const protocol::SlotInfo& info : roster.slots()) {
        const auto known = arrivals_.find(info.peer);
        if (info.standing == Standing::Observer) {
            const bool same = known != arrivals_.end() && known->second.stage == info.stage;
            still[info.peer] = same ? known->second : Arrival{info.stage, now};
        } else if (known != arrivals_.end() && known->second.stage == info.stage) {
            const std::chrono::duration<double> took = now - known->second.since;
            const double seen = (took.count() + kWarmUp_s) / empty_stages_[info.stage.value].join_s;
            slowness_ += kNewest * (seen - slowness_);
        }
    }
    arrivals_ = std::move(still);
}

void Placement::watch_losses(const run::Roster& roster, TimePoint now) {
    std::vector<std::uint32_t> members(empty_stages_.size(), 0);
    for (const protocol::SlotInfo& info : roster.slots()) {
        const bool works = info.standing == Standing::Member || info.standing == Standing::Suspect;
        members[info.stage.value] += works ? 1 : 0;
    }
    for (std::size_t stage = 0; stage < members_.size(); ++stage) {
        if (rebalancer_->answers_losses() && members[stage] < members_[stage]) {
            early_due_ = std::min(early_due_, now + kRoundAfterLoss);
        }
    }
    members_ = std::move(members);
}

std::vector<router::Move> Placement::decide(
    const run::Roster& roster, TimePoint now, const Lent& lent
) {
    if (!rebalancer_ || now < next_deadline()) {
        return {};
    }
    const bool first = due_ == kAtOnce;  // the first period begins with the first look
    early_due_ = kNever;
    due_ = now < due_ ? due_ : now + every_;
    if (first) {
        return {};
    }
    router::StageLoads seen = loads(roster, now, [](PeerId) { return true; });
    for (router::StageLoad& stage : seen) {
        for (router::PeerLoad& peer : stage.peers) {
            peer.lends_bytes = lent ? lent(roster.find(peer.slot)->peer) : 0;
        }
    }
    const std::vector<router::Move> moves = rebalancer_->rebalance(seen, now);
    begin_period(roster, now);
    for (const router::Move& move : moves) {
        members_[move.from.value] -= members_[move.from.value] > 0 ? 1 : 0;
        const auto& peers = seen[move.from.value].peers;
        const auto mover = std::find_if(peers.begin(), peers.end(), [&](const auto& peer) {
            return peer.slot == move.slot;
        });
        leases_[roster.find(move.slot)->peer] = {
            move.to, now + lease_of(every_), mover->units_per_s};
    }
    return moves;
}

void Placement::begin_period(const run::Roster& roster, TimePoint now) {
    std::erase_if(leases_, [&](const auto& lease) { return lease.second.until <= now; });
    std::erase_if(views_, [&](const auto& entry) {
        return entry.first != kOwn && !roster.find(entry.first);
    });
    for (auto& [sender, views] : views_) {
        std::erase_if(views, [&](const View& view) {
            return view.count == 0 || !roster.find(view.seen);
        });
        for (View& view : views) {
            view.queued_sum = 0;
            view.count = 0;
            view.units_per_s_before = std::exchange(view.units_per_s, 0);
        }
    }
}

std::optional<StageIndex> Placement::place(
    const run::Roster& roster, TimePoint now, const std::function<bool(PeerId)>& is_there
) const {
    if (!rebalancer_) {
        return std::nullopt;
    }
    return rebalancer_->place(loads(roster, now, is_there));
}

router::PeerLoad Placement::load_of(const protocol::SlotInfo& info, TimePoint now) const {
    router::PeerLoad load{info.slot};
    load.is_arriving = info.standing != Standing::Member;
    const auto lease = leases_.find(info.peer);
    if (lease != leases_.end() && now < lease->second.until) {
        load.is_leased = true;
        load.units_per_s = lease->second.units_per_s;
    }
    return load;
}

router::StageLoads Placement::loads(
    const run::Roster& roster, TimePoint now, const std::function<bool(PeerId)>& is_there
) const {
    std::map<SlotId, router::PeerLoad> seen;
    for (const auto& [sender, views] : views_) {
        if (sender != kOwn && !roster.find(sender)) {
            continue;
        }
        for (const View& view : views) {
            router::PeerLoad& load = seen[view.seen];
            load.queued += view.count > 0 ? view.queued_sum / view.count : 0;
            load.units_per_s =
                std::max({load.units_per_s, view.units_per_s, view.units_per_s_before});
        }
    }
    router::StageLoads loads = empty_stages_;
    for (router::StageLoad& stage : loads) {
        stage.join_s *= slowness_;
    }
    std::vector<std::pair<StageIndex, router::PeerLoad>> arriving;
    for (const protocol::SlotInfo& info : roster.slots()) {
        if (!is_there(info.peer)) {
            continue;
        }
        router::PeerLoad load = load_of(info, now);
        if (info.standing == Standing::Member) {
            const router::PeerLoad& known = seen[info.slot];
            load.queued = known.queued;
            load.units_per_s = known.units_per_s > 0 ? known.units_per_s : load.units_per_s;
            loads[info.stage.value].peers.push_back(load);
        } else if (info.standing == Standing::Observer) {
            arriving.emplace_back(info.stage, load);
        } else if (load.is_leased) {  // a mover that drains will work in the other stage
            arriving.emplace_back(leases_.at(info.peer).to, load);
        }
    }
    for (const auto& [stage, load] : arriving) {
        loads[stage.value].peers.push_back(load);
    }
    return loads;
}

}  // namespace swarm::coordinator
