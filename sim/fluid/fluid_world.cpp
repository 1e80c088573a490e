#include "sim/fluid/fluid_world.hpp"

#include "sim/peer.hpp"
#include "swarm/base/check.hpp"
#include "swarm/coordinator/failure_detector.hpp"
#include "swarm/coordinator/placement.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace sim {
namespace {

using swarm::protocol::Standing;
using Kind = Happening::Kind;

// The same as in stages/server/stage_server.cpp.
constexpr Duration kDrainMax = std::chrono::seconds(60);
constexpr Duration kSilenceAllowed = swarm::coordinator::FailureDetector::Timing{}.dead_after;

std::string name_of(std::uint32_t number) {
    return "peer " + std::to_string(number);
}

double mean_latency_s(const Regions& regions, const std::vector<FleetPeer>& fleet) {
    if (regions.latency.empty() || fleet.empty()) {
        return 0;
    }
    std::vector<double> share(regions.latency.size(), 0);
    for (const FleetPeer& peer : fleet) {
        share.at(peer.region) += 1.0 / static_cast<double>(fleet.size());
    }
    double mean_s = 0;
    for (std::size_t from = 0; from < share.size(); ++from) {
        for (std::size_t to = 0; to < share.size(); ++to) {
            const std::chrono::duration<double> latency = regions.latency.at(from).at(to);
            mean_s += share[from] * share[to] * latency.count();
        }
    }
    return mean_s * (1 + regions.jitter / 2);
}

}  // namespace

FluidWorld::FluidWorld(const Scenario& scenario, const Schedule& schedule, std::uint64_t seed)
    : scenario_(scenario),
      schedule_(schedule),
      policy_(router::make_policy(scenario.pipeline.policy, seed)),
      rebalancer_(router::make_rebalancer(scenario.pipeline.rebalancer)),
      latency_s_(mean_latency_s(scenario.regions, schedule.fleet)),
      roster_(scenario.pipeline.stages),
      machines_(schedule.fleet.size()),
      observers_(scenario.pipeline.stages),
      best_(scenario.pipeline.stages),
      queued_(scenario.pipeline.stages, 0),
      step_model_(scenario, schedule.fleet, seed) {
    SWARM_ASSERT(policy_ && rebalancer_);  // run_fluid() has checked the names
    stages_.assign(scenario.pipeline.stages, StageFlow(*policy_));
    totals_.busy_s_per_stage.assign(scenario.pipeline.stages, 0);
    totals_.up_s_per_stage.assign(scenario.pipeline.stages, 0);
    join_s_ = mean_join_s();
}

void FluidWorld::start() {
    router::StageLoads loads(stages_.size());
    for (const FleetPeer& peer : schedule_.fleet) {
        if (!peer.there_at_start) {
            continue;
        }
        machine(peer.number).up = true;
        ++up_;
        count_for_best(peer.number);
        const StageIndex stage = rebalancer_->place(loads);
        take_slot(peer.number, stage);
        std::erase(observers_[stage.value], *machine(peer.number).slot);
        take_part(peer.number);
        loads[stage.value].peers.push_back({*machine(peer.number).slot});
    }
    begin_period();
    refresh();
}

void FluidWorld::carry_out(const Happening& happening) {
    ++events_;
    trace_.add(static_cast<std::uint64_t>(now_.time_since_epoch().count()));
    trace_.add(static_cast<std::uint64_t>(happening.kind));
    trace_.add(happening.peer);
    switch (happening.kind) {
        case Kind::Join:
            join(happening.peer);
            break;
        case Kind::Leave:
            depart(happening.peer, NoteKind::Leave);
            break;
        case Kind::Crash:
            depart(happening.peer, NoteKind::Crash);
            break;
        case Kind::Freeze:
            freeze(happening.peer);
            break;
        case Kind::Thaw:
            thaw(happening.peer);
            break;
        case Kind::SlowDown:
            change_speed(happening.peer, happening.factor);
            break;
        case Kind::SpeedBack:
            change_speed(happening.peer, 1);
            break;
        case Kind::Block:
        case Kind::Unblock:
        case Kind::CutLink:
        case Kind::MendLink:
            break;  // faults of links are left out
    }
    refresh();
}

TimePoint FluidWorld::next_own_event() {
    if (pending_.next_time() <= now_) {
        return pending_.next_time();
    }
    settle();  // before the rest: it uses up the ration
    const bool commit_matters = !awaiting_.empty() || samples_each_step();
    return commit_matters ? std::min(pending_.next_time(), commit_at_) : pending_.next_time();
}

void FluidWorld::carry_out_own_event() {
    if (pending_.next_time() > now_) {
        commit();
        return;
    }
    const Pending pending = pending_.pop();
    if (pending.kind == Pending::Kind::RoundAfterLoss) {
        round_follows_ = false;
        rebalance();
        return;
    }
    Machine& one = machine(pending.number);
    if (pending.spell != one.spell) {
        return;
    }
    ++events_;
    trace_.add(static_cast<std::uint64_t>(now_.time_since_epoch().count()));
    trace_.add(pending.number);
    if (pending.kind == Pending::Kind::Downloaded) {
        downloaded(pending.number);
    } else if (one.frozen && now_ - one.frozen_at == kSilenceAllowed) {
        silent_for_too_long(pending.number);
    }
    refresh();
}

void FluidWorld::rebalance() {
    ++events_;
    settle();
    const std::vector<router::Move> moves = rebalancer_->rebalance(mean_loads(), now_);
    begin_period();
    for (const router::Move& move : moves) {
        const auto number = static_cast<std::uint32_t>(roster_.find(move.slot)->peer.words[0]);
        trace_.add(static_cast<std::uint64_t>(now_.time_since_epoch().count()));
        trace_.add(number);
        trace_.add(move.to.value);
        note(
            NoteKind::Move,
            name_of(number) + " from stage " + std::to_string(move.from.value) + " to " +
                std::to_string(move.to.value)
        );
        begin_move(number, move.to);
    }
    refresh();
}

void FluidWorld::join(std::uint32_t number) {
    Machine& one = machine(number);
    if (one.up) {
        return;
    }
    one.up = true;
    ++up_;
    count_for_best(number);
    note(NoteKind::Join, name_of(number));
    observe(number, stage_for_newcomer());
}

void FluidWorld::depart(std::uint32_t number, NoteKind how) {
    Machine& one = machine(number);
    if (!one.up) {
        return;
    }
    if (scenario_.churn.spares_last && is_last_of_its_stage(number)) {
        note(NoteKind::Spared, name_of(number) + " is the last of its stage");
        thaw(number);  // no Thaw follows a departure
        return;
    }
    note(how, name_of(number));
    one.up = false;
    one.frozen = false;
    --up_;
    if (one.slot) {
        // A peer that leaves in order stays for the commit, if that comes in time.
        const bool stays = how == NoteKind::Leave && commit_at_ <= now_ + kDrainMax;
        if (!stays) {
            lose_work_of(number);
        }
        lose(number);
    }
    count_for_best(number);
}

void FluidWorld::freeze(std::uint32_t number) {
    Machine& one = machine(number);
    if (!one.up || one.frozen) {
        return;
    }
    one.frozen = true;
    one.frozen_at = now_;
    pending_.push(now_ + kSilenceAllowed, {Pending::Kind::Silent, number, one.spell});
    speed_changed(number);
    note(NoteKind::Freeze, name_of(number));
}

void FluidWorld::thaw(std::uint32_t number) {
    Machine& one = machine(number);
    if (!one.up || !one.frozen) {
        return;
    }
    one.frozen = false;
    speed_changed(number);
    note(NoteKind::Thaw, name_of(number));
    if (!one.slot) {
        observe(number, stage_for_newcomer());
    }
}

void FluidWorld::change_speed(std::uint32_t number, double slowed_to) {
    Machine& one = machine(number);
    if (one.slowed_to == slowed_to || (!one.up && slowed_to < 1)) {
        return;  // a fault of a machine that is down is skipped, but not its end
    }
    one.slowed_to = slowed_to;
    speed_changed(number);
    note(slowed_to < 1 ? NoteKind::SlowDown : NoteKind::SpeedBack, name_of(number));
}

void FluidWorld::silent_for_too_long(std::uint32_t number) {
    Machine& one = machine(number);
    // The coordinator waits for the last peer of a stage: only that peer has the parameters.
    if (one.slot && is_last_of_its_stage(number)) {
        return note(NoteKind::StageEmpty, name_of(number) + " is the last of its stage");
    }
    if (!one.slot) {
        return;
    }
    note(NoteKind::Fenced, name_of(number));
    lose_work_of(number);
    lose(number);
}

void FluidWorld::lose(std::uint32_t number) {
    const bool answered = rebalancer_->answers_losses() && machine(number).is_member;
    give_up_slot(number);
    if (answered && !std::exchange(round_follows_, true)) {
        pending_.push(
            now_ + swarm::coordinator::kRoundAfterLoss, {Pending::Kind::RoundAfterLoss, 0, 0}
        );
    }
}

void FluidWorld::note(NoteKind kind, std::string text) {
    if (notes_.size() < kNotesMax) {
        const std::chrono::duration<double> at = now_.time_since_epoch();
        notes_.push_back({at.count(), kind, std::move(text)});
    }
}

}  // namespace sim
