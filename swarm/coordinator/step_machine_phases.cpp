// The phases of a step up to its reduce: the start and the end of each one.
#include "swarm/base/check.hpp"
#include "swarm/coordinator/step_machine.hpp"

#include <algorithm>
#include <utility>

namespace swarm::coordinator {

using protocol::SlotInfo;
using protocol::Standing;

void StepMachine::advance(node::Turn turn) {
    // Each round takes at most one step of the phase; the bound only guards against a bug.
    for (int round = 0; round < 8; ++round) {
        const Phase before = phase_;
        switch (phase_) {
            case Phase::Waiting:
                start_when_complete(turn);
                break;
            case Phase::Running:
                run(turn);
                break;
            case Phase::Recalling:
                end_recall_when_answered(turn);
                break;
            case Phase::Reducing:
                decide_when_held();
                break;
            case Phase::Deciding:
            case Phase::Done:
                break;
        }
        if (phase_ == before) {
            break;
        }
    }
    context_.send_roster_if_changed(turn);
}

bool StepMachine::every_stage_has_member() const {
    std::vector<bool> filled(context_.config.stages);
    for (std::uint32_t stage = 0; stage < filled.size(); ++stage) {
        filled[stage] = context_.roster.has_member({stage});
    }
    for (const Joiner& joiner : joiners_) {
        filled[joiner.info.stage.value] = true;
    }
    return std::find(filled.begin(), filled.end(), false) == filled.end();
}

void StepMachine::start_when_complete(node::Turn turn) {
    const std::size_t present = context_.roster.slots().size() + joiners_.size();
    const bool all_here = present >= std::max(context_.config.min_peers, context_.config.stages);
    if (!every_stage_has_member()) {
        opened_at_ = turn.now;  // the grace begins when the run could start
        return;
    }
    const bool waited = turn.now >= opened_at_ + timing_.restart_grace;
    if (all_here && (context_.config.min_peers > 0 || waited)) {
        first_step_ = false;
        opened_at_ = turn.now;
        phase_ = Phase::Running;
    } else if (waited) {
        opened_at_ = turn.now;  // min_peers are not here yet, so it looks again later
    }
}

void StepMachine::run(node::Turn turn) {
    if (held_) {
        return;
    }
    if (!every_stage_has_member()) {
        paused_ = true;
        return;
    }
    if (paused_) {
        paused_ = false;
        turn.out.log(node::LogLine::Level::Info, "every stage has a member again: going on");
    }
    if (skip_reason_ && has_members_everywhere(1)) {
        decide_skip();
        return;
    }
    if (ledger_.needs_recall() || exchange_aborted_ || !joiners_.empty()) {
        begin_recall(turn);
        return;
    }
    if (evaluating_) {
        return;
    }
    launch(turn);
    if (ledger_.all_pathed() && !ledger_.needs_recall()) {
        reduce_when_enough(turn);
    }
}

void StepMachine::reduce_when_enough(node::Turn turn) {
    const std::uint32_t least = context_.config.min_holders;
    if (has_members_everywhere(least)) {
        waits_for_holders_ = false;
        begin_reduce(turn);
    } else if (!std::exchange(waits_for_holders_, true)) {
        turn.out.log(
            node::LogLine::Level::Warning,
            "step " + std::to_string(context_.version.step) + " waits: a stage has fewer than " +
                std::to_string(least) + " peers (min_holders); start another one with `swarm serve`"
        );
    }
}

bool StepMachine::has_members_everywhere(std::size_t at_least) const {
    for (std::uint32_t stage = 0; stage < context_.config.stages; ++stage) {
        if (context_.roster.members({stage}).size() < at_least) {
            return false;
        }
    }
    return true;
}

// A skip needs only the version before, which every member has, so nobody is waited for.
void StepMachine::decide_skip() {
    holders_.clear();
    lists_.clear();
    decision_ = skip_of(context_.version, epoch_);
    deadline_ = kNever;
    phase_ = Phase::Deciding;
}

void StepMachine::launch(node::Turn turn) {
    const std::size_t window = context_.config.in_flight > 0
                                   ? context_.config.in_flight
                                   : std::max<std::size_t>(2, 2 * context_.roster.member_count());
    const std::size_t replays_max = std::max<std::size_t>(1, window / 4);
    while (ledger_.in_flight() < window) {
        const auto next = ledger_.next_launch(replays_max);
        if (!next || !launcher_.launch(*next, epoch_, turn)) {
            return;
        }
        ledger_.launched(next->microbatch, epoch_, turn.now);
        ledger_.offered(next->microbatch, launcher_.holder(next->microbatch));
    }
}

void StepMachine::begin_recall(node::Turn turn) {
    epoch_.value += 1;
    exchange_aborted_ = false;
    holders_.clear();
    first_holder_at_.clear();
    waits_.clear();
    settling_ = forks_.take();
    const std::vector<MicrobatchId> ids = ledger_.begin_recall(epoch_);
    for (const MicrobatchId id : ids) {
        launcher_.give_up(id, Launcher::Why::Recalled, turn.now);
    }
    void_slots_.clear();
    admit_joiners(turn);
    context_.send_roster_if_changed(turn);
    awaited_.clear();
    for (const SlotId slot : context_.roster.all_members()) {
        const bool empty = void_slots_.contains(slot);
        context_.send(slot, protocol::Recall{context_.version, epoch_, ids, empty}, turn);
        awaited_.insert(slot);
    }
    deadline_ = turn.now + timing_.recall_min;
    phase_ = Phase::Recalling;
    launcher_.refresh(turn.now);
}

void StepMachine::admit_joiners(node::Turn turn) {
    for (Joiner& joiner : std::exchange(joiners_, {})) {
        const PeerStreams::Connection* const connection =
            context_.peer_streams.find(joiner.info.peer);
        if (!connection || connection->incarnation != joiner.info.incarnation) {
            continue;  // the joiner is gone
        }
        if (const SlotInfo* old = context_.roster.find_peer(joiner.info.peer)) {
            if (old->standing != Standing::Observer) {
                continue;  // the joiner has a slot already
            }
            context_.roster.remove(old->slot);
        }
        joiner.info.admitted = epoch_;
        joiner.info.standing = Standing::Member;
        const SlotId slot = context_.roster.add(joiner.info);
        admitted_[slot] = epoch_;
        if (joiner.held_sums == HeldSums::Forget) {
            void_slots_.insert(slot);
        }
        context_.detector.watch(joiner.info.peer, turn.now);
        context_.tell(node::PeerChange::Admitted, *context_.roster.find(slot), "", turn);
    }
}

void StepMachine::end_recall_when_answered(node::Turn turn) {
    if (!awaited_.empty()) {
        return;
    }
    for (const auto& [id, fork] : std::exchange(settling_, {})) {
        settle(id, fork, turn);
    }
    // After a restart nobody lies: the two were members of different coordinators.
    while (const auto twin = ledger_.contradicted()) {
        ledger_.disclaim(*twin);
        fence(*twin, "holds what another replica holds", IfLast::Fence, turn);
    }
    ledger_.end_recall();
    deadline_ = kNever;
    phase_ = Phase::Running;
    launcher_.refresh(turn.now);
    give_up_overdue(turn);  // a recall may have outlasted a wave
}

void StepMachine::settle(MicrobatchId id, const ForkedPaths::Fork& fork, node::Turn turn) {
    const std::size_t stage = fork.stage();
    std::vector<SlotId> parties{fork.first[stage], fork.second[stage]};
    if (stage > 0) {
        parties.push_back(fork.first[stage - 1]);
    }
    if (stage + 1 < fork.first.size()) {
        parties.insert(parties.end(), {fork.first.back(), fork.second.back()});
    }
    std::vector<PeerId> peers;
    for (const SlotId slot : parties) {
        if (const SlotInfo* const info = context_.roster.find(slot)) {
            peers.push_back(info->peer);
        }
    }
    if (const auto blamed = forks_.blame(peers)) {
        const SlotId slot = context_.roster.find_peer(*blamed)->slot;
        fence_caught(slot, "work came on two paths again and again near it", IfLast::Keep, turn);
    }
    for (std::size_t above = stage; above < fork.first.size(); ++above) {
        const SlotId twin = fork.second[above];
        if (twin != fork.first[above] && ledger_.is_claimed(id, fork.first[above]) &&
            ledger_.is_claimed(id, twin)) {
            begin_anew(twin, turn);
        }
    }
}

void StepMachine::begin_anew(SlotId slot, node::Turn turn) {
    const SlotInfo* const found = context_.roster.find(slot);
    SWARM_ASSERT(found != nullptr);  // whoever leaves the roster has no claims any more
    SlotInfo info = *found;
    context_.roster.remove(slot);
    ledger_.need_after_fence(slot);
    lose_share(info, turn);
    joiners_.push_back({std::move(info), HeldSums::Forget});
}

void StepMachine::expire_recall(node::Turn turn) {
    // A member whose device still applies the last commit cannot answer; it is slow, not gone.
    const bool may_apply = turn.now < opened_at_ + std::max(timing_.reduce_min, 4 * waves_.p95());
    const std::set<SlotId> awaited = awaited_;
    for (const SlotId slot : awaited) {
        if (may_apply && applying_.contains(slot)) {
            continue;
        }
        const char* const reason = "did not answer a recall in time";
        if (++failed_reduces_[context_.roster.find(slot)->peer] >= kFailedReducesMax) {
            fence_caught(slot, reason, IfLast::Keep, turn);
        } else {
            fence(slot, reason, IfLast::Keep, turn);
        }
    }
    deadline_ = turn.now + timing_.recall_min;  // the members that are left are waited for
}

}  // namespace swarm::coordinator
