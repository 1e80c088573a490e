// The phases of a step: the start and the end of each one.
#include "swarm/base/check.hpp"
#include "swarm/coordinator/step_machine.hpp"
#include "swarm/run/step_scalars.hpp"
#include "swarm/run/versions.hpp"

#include <algorithm>
#include <cmath>
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
    accused_.clear();
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
    deadline_ = turn.now + std::max(timing_.recall_min, 2 * waves_.p95());
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
    ledger_.end_recall();
    deadline_ = kNever;
    phase_ = Phase::Running;
    launcher_.refresh(turn.now);
    give_up_overdue(turn);  // a recall may have outlasted a wave
}

void StepMachine::begin_reduce(node::Turn turn) {
    holders_.clear();
    first_holder_at_.clear();
    accused_.clear();
    lists_.clear();
    for (std::uint32_t stage = 0; stage < context_.config.stages; ++stage) {
        const std::vector<SlotId> group = context_.roster.members({stage});
        if (replicas_train_alone()) {
            // Each replica is a group of its own: its sums are its result, and observers get
            // nothing.
            for (const SlotId slot : group) {
                lists_[slot] = ledger_.ids_of(slot, {stage});
                context_.send(
                    slot, protocol::Reduce{context_.version, epoch_, lists_[slot], {slot}, {}}, turn
                );
            }
            continue;
        }
        const std::vector<SlotId> observers = context_.roster.observers({stage});
        protocol::Reduce reduce{context_.version, epoch_, {}, group, observers};
        if (const auto tied_to = run::tied_stage(context_.config, {stage})) {
            reduce.tied_group = context_.roster.members(*tied_to);
        }
        if (replicas_exchange()) {
            reduce.shares = shares_of(group);
        }
        for (const SlotId slot : group) {
            reduce.ids = lists_[slot] = ledger_.ids_of(slot, {stage});
            context_.send(slot, reduce, turn);
        }
        reduce.ids.clear();
        reduce.tied_group.clear();
        for (const SlotId slot : observers) {
            context_.send(slot, reduce, turn);
        }
    }
    deadline_ = turn.now + reduce_patience();
    phase_ = Phase::Reducing;
}

/// Nobody reports the rates of these lines, so this is the time of the largest stage on the slowest
/// line that a run is made for. A peer that dies or freezes is noticed long before, by its silence.
Duration StepMachine::reduce_patience() const {
    constexpr double kBytesPerElement = 12;  // int64 one way, fp32 the other
    std::uint64_t elements = 0;
    for (const run::StageLayout& layout : context_.layouts) {
        const bool tied = run::tied_stage(context_.config, layout.stage).has_value();
        elements = std::max(
            elements, layout.parameters() + (tied ? run::tied_elements(context_.config) : 0)
        );
    }
    const std::chrono::duration<double> on_the_line(
        kBytesPerElement * static_cast<double>(elements) / timing_.slowest_line_bytes_per_s
    );
    return std::max(
        {timing_.reduce_min, 4 * waves_.p95(), std::chrono::duration_cast<Duration>(on_the_line)}
    );
}

void StepMachine::on(SlotId from, const protocol::Reduced& reduced, node::Turn turn) {
    if (phase_ != Phase::Reducing || reduced.version != context_.version ||
        reduced.epoch != epoch_) {
        return;
    }
    const StageIndex stage = context_.roster.find(from)->stage;
    const auto list = lists_.find(from);
    if (list == lists_.end()) {
        return;  // nobody asked the member
    }
    if (!is_complete(reduced, stage, list->second.size())) {
        fence(from, "its result does not count every microbatch once", IfLast::Keep, turn);
        return;
    }
    holders_[from] = reduced;
    const auto [first, is_first] = first_holder_at_.try_emplace(stage, turn.now);
    if (!is_first) {
        reduces_.add(turn.now - first->second);
    }
    deadline_ = std::max(deadline_, turn.now + timing_.reduce_min);
    if (replicas_train_alone()) {
        return;  // no two results are equal
    }
    if (const auto liar = find_minority(stage)) {
        fence(*liar, "its result differs from its replicas'", IfLast::Keep, turn);
        if (phase_ == Phase::Reducing) {
            abort_reduce("results of a stage differ", turn);
        }
    }
}

void StepMachine::on(SlotId from, const protocol::Mismatch& mismatch, node::Turn turn) {
    if (phase_ == Phase::Reducing && mismatch.version == context_.version &&
        mismatch.epoch == epoch_ && context_.roster.find(from)) {
        if (replicas_exchange()) {
            // The member may return at once with the shared weights, even as the last of its stage.
            fence(from, "it has no share of what it was counted for", IfLast::Fence, turn);
            return;
        }
        abort_reduce("a member holds other microbatches than the ledger says", turn);
    }
}

void StepMachine::on(SlotId from, const protocol::Stuck& stuck, node::Turn) {
    if (phase_ != Phase::Reducing || stuck.version != context_.version || stuck.epoch != epoch_) {
        return;
    }
    const StageIndex stage = context_.roster.find(from)->stage;
    for (const SlotId slot : stuck.waits_for) {
        const SlotInfo* const info = context_.roster.find(slot);
        if (!info || info->standing == Standing::Observer || slot == from) {
            continue;
        }
        const bool tied = run::tied_stage(context_.config, stage) == info->stage;
        if (tied || info->stage == stage) {
            Accused& accused =
                accused_.try_emplace(slot, Accused{accused_.size(), {}, {}}).first->second;
            (tied ? accused.by_tied : accused.by).insert(from);
        }
    }
}

bool StepMachine::has_holders_everywhere() const {
    for (std::uint32_t stage = 0; stage < context_.config.stages; ++stage) {
        const std::vector<SlotId> members = context_.roster.members({stage});
        const bool all = std::all_of(members.begin(), members.end(), [&](SlotId slot) {
            return holders_.contains(slot);
        });
        if (members.size() < std::max<std::size_t>(1, context_.config.min_holders) || !all) {
            return false;
        }
    }
    return true;
}

void StepMachine::decide_when_held() {
    if (!has_holders_everywhere()) {
        return;
    }
    deadline_ = kNever;
    phase_ = Phase::Deciding;
    counted_ = count_results();
    if (replicas_exchange()) {
        std::vector<Digest> hashes;
        for (std::uint32_t stage = 0; stage < context_.config.stages; ++stage) {
            hashes.push_back(holders_.at(context_.roster.members({stage}).front()).result_hash);
        }
        decision_ = exchange_of(context_.version, epoch_, std::move(hashes));
        trained_.clear();
        return;
    }
    CommitRecord record{context_.version, epoch_, {}, ledger_.mean_loss(), 0, {}};
    std::vector<double> sums;  // stages in order hold the tensors in global order
    for (std::uint32_t stage = 0; stage < context_.config.stages; ++stage) {
        const std::vector<double> found = squares_of({stage});
        sums.insert(sums.end(), found.begin(), found.end());
        const SlotId slot = context_.roster.members({stage}).front();
        record.result_hashes.push_back(
            replicas_train_alone() ? Digest{} : holders_.at(slot).result_hash
        );
    }
    const std::uint64_t step = run::steps_before(context_.config, context_.version.step);
    record.scalars = run::step_scalars(context_.config, step, sums);
    record.gradient_norm = run::gradient_norm(sums);
    decision_ = std::move(record);
    if (replicas_train_alone()) {
        note_trained();
    }
}

void StepMachine::abort_reduce(const char* reason, node::Turn turn) {
    turn.out.log(
        node::LogLine::Level::Info,
        "step " + std::to_string(context_.version.step) + ": reduce aborted, " + reason
    );
    ledger_.need_all();
    exchange_aborted_ = replicas_exchange();
    holders_.clear();
    first_holder_at_.clear();
    deadline_ = kNever;
    phase_ = Phase::Running;
}

void StepMachine::expire_recall(node::Turn turn) {
    // A member whose device still applies the last commit cannot answer; it is slow, not gone.
    const bool may_apply = turn.now < opened_at_ + std::max(timing_.reduce_min, 4 * waves_.p95());
    const std::set<SlotId> awaited = awaited_;
    for (const SlotId slot : awaited) {
        if (may_apply && applying_.contains(slot)) {
            continue;
        }
        fence(slot, "did not answer a recall in time", IfLast::Keep, turn);
    }
    deadline_ = turn.now + timing_.recall_min;  // the members that are left are waited for
}

void StepMachine::expire_grace(node::Turn turn) {
    const Duration grace = std::max(timing_.holder_grace_min, 4 * reduces_.p95());
    std::vector<SlotId> late;
    for (auto& [stage, at] : first_holder_at_) {
        if (at + grace > turn.now) {
            continue;
        }
        at = turn.now;
        const std::vector<SlotId> members = context_.roster.members(stage);
        const auto holders = std::count_if(members.begin(), members.end(), [&](SlotId slot) {
            return holders_.contains(slot);
        });
        if (std::cmp_less(holders, context_.config.min_holders)) {
            continue;  // the silent one is needed
        }
        for (const SlotId slot : members) {
            // A live member sends a heartbeat every 2 s, so only a suspect has been silent.
            const bool silent = context_.roster.find(slot)->standing == protocol::Standing::Suspect;
            if (silent && !holders_.contains(slot)) {
                late.push_back(slot);
            }
        }
    }
    for (const SlotId slot : late) {
        fence(slot, "did not finish the reduce that its replicas finished", IfLast::Keep, turn);
    }
}

void StepMachine::expire_reduce(node::Turn turn) {
    std::optional<SlotId> blamed;
    for (const auto& [slot, accused] : accused_) {
        if (context_.roster.find(slot) && (!blamed || accused.more_than(accused_.at(*blamed)))) {
            blamed = slot;
        }
    }
    if (blamed) {
        unreachable_.insert(context_.roster.find(*blamed)->peer);
        fence(*blamed, "its replicas wait for it", IfLast::Keep, turn);
    }
    if (phase_ == Phase::Reducing) {
        abort_reduce("it took too long", turn);
    }
}

}  // namespace swarm::coordinator
