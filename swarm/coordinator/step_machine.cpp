#include "swarm/coordinator/step_machine.hpp"

#include "swarm/base/check.hpp"
#include "swarm/run/step_scalars.hpp"
#include "swarm/run/training/batch_growth.hpp"
#include "swarm/run/training/trained_part.hpp"
#include "swarm/run/versions.hpp"

#include <algorithm>
#include <utility>

namespace swarm::coordinator {

using protocol::SlotInfo;

StepMachine::StepMachine(RunContext& context, Launcher& launcher, Timing timing)
    : context_(context),
      launcher_(launcher),
      timing_(timing),
      training_(run::training_stages(context.config, context.layouts)),
      ledger_(context.config.stages, training_, context.config.microbatches) {}

void StepMachine::open(StartWith start, node::Turn turn) {
    const std::uint32_t microbatches = replicas_exchange() ? 0 : microbatches_of_step();
    ledger_ = StepLedger(context_.config.stages, training_, microbatches);
    exchange_aborted_ = false;
    std::erase_if(trained_, [&](const auto& each) { return !context_.roster.find(each.first); });
    std::erase_if(failed_reduces_, [&](const auto& each) {
        return !context_.peer_streams.find(each.first);
    });
    forks_.forget([&](PeerId peer) { return !context_.peer_streams.find(peer); });
    (void)forks_.take();
    settling_.clear();
    epoch_ = make_epoch(context_.cinc, 1);
    admitted_.clear();
    joiners_.clear();  // their states are of the version before; they will ask again
    unreachable_.clear();
    awaited_.clear();
    const std::vector<SlotId> members = context_.roster.all_members();
    applying_ = std::set<SlotId>(members.begin(), members.end());
    holders_.clear();
    first_holder_at_.clear();
    lists_.clear();
    decision_.reset();
    deadline_ = kNever;
    opened_at_ = turn.now;
    fenced_ = 0;
    fails_.clear();
    dropped_.clear();
    skip_reason_.reset();
    waits_for_holders_ = false;
    held_ = false;
    evaluating_ = false;
    launcher_.new_step(turn.now);
    if (start == StartWith::Recall) {
        ledger_.need_all();
    }
    phase_ = first_step_ ? Phase::Waiting : Phase::Running;
}

void StepMachine::admit(SlotInfo joiner, HeldSums held_sums, TimePoint now) {
    const bool is_away = unreachable_.contains(joiner.peer) || conduct_.is_away(joiner.peer, now);
    if (is_away && !context_.bugs.caught_come_back &&
        !context_.roster.pickable(joiner.stage).empty()) {
        return;  // its replicas would wait for it again
    }
    std::erase_if(joiners_, [&](const Joiner& other) { return other.info.peer == joiner.peer; });
    // In mode sparse a new slot begins its round anew, because its earlier work was not counted.
    const bool is_sparse = context_.config.mode == run::SyncMode::Sparse;
    joiners_.push_back({std::move(joiner), is_sparse ? HeldSums::Forget : held_sums});
}

bool StepMachine::fence(SlotId slot, const std::string& reason, IfLast if_last, node::Turn turn) {
    const SlotInfo* const found = context_.roster.find(slot);
    if (!found || found->standing == protocol::Standing::Observer) {
        return false;
    }
    const SlotInfo info = *found;
    const bool replaceable =
        std::any_of(joiners_.begin(), joiners_.end(), [&](const Joiner& joiner) {
            return joiner.info.stage == info.stage;
        });
    if (if_last == IfLast::Keep && !replaceable &&
        context_.roster.members(info.stage).size() == 1) {
        // Its parameters cannot be replaced, only its sums can: wait for it (stage_lost).
        if (info.standing != protocol::Standing::Suspect) {
            context_.roster.set_standing(slot, protocol::Standing::Suspect);
            context_.tell(node::PeerChange::StageEmpty, info, reason, turn);
        }
        return false;
    }
    if (!context_.bugs.fence_off) {
        context_.roster.remove(slot);
    }
    ++fenced_;
    awaited_.erase(slot);
    holders_.erase(slot);
    ledger_.need_after_fence(slot);
    context_.tell(node::PeerChange::Fenced, info, reason, turn);
    const bool all_hold = phase_ == Phase::Reducing && has_holders_everywhere();
    if (all_hold && replicas_exchange()) {
        trained_.erase(slot);  // the result of the others has its share
    }
    lose_share(info, turn);
    const auto list = lists_.find(slot);
    const bool takes_sums_along =
        replicas_train_alone() && list != lists_.end() && !list->second.empty();
    if (phase_ == Phase::Reducing && (!all_hold || takes_sums_along)) {
        abort_reduce("a member was fenced", turn);
    }
    launcher_.refresh(turn.now);
    return true;
}

void StepMachine::fence_caught(
    SlotId slot, const std::string& reason, IfLast if_last, node::Turn turn
) {
    const PeerId peer = context_.roster.find(slot)->peer;
    unreachable_.insert(peer);
    conduct_.caught(peer, turn.now);
    fence(slot, reason, if_last, turn);
}

bool StepMachine::may_leave(SlotId slot) const {
    const SlotInfo* const info = context_.roster.find(slot);
    // A claim of a recall becomes the slot's own at the end of the recall.
    const bool decides =
        phase_ == Phase::Recalling || phase_ == Phase::Reducing || phase_ == Phase::Deciding;
    return !info || (!decides && ledger_.in_flight() == 0 &&
                     ledger_.ids_of(slot, info->stage).empty() && !owes_share(slot));
}

bool StepMachine::replicas_exchange() const {
    return run::is_exchange(context_.config, context_.version.step);
}

std::vector<protocol::Trained> StepMachine::shares_of(const std::vector<SlotId>& group) const {
    std::vector<protocol::Trained> shares;
    for (const SlotId slot : group) {
        if (const auto found = trained_.find(slot); found != trained_.end()) {
            shares.push_back({slot, found->second});
        }
    }
    return shares;
}

std::uint32_t StepMachine::microbatches_of_step() const {
    const std::uint64_t step = run::steps_before(context_.config, context_.version.step);
    return run::microbatches_of(context_.config, step);
}

void StepMachine::note_trained() {
    for (const auto& [slot, ids] : lists_) {
        if (!ids.empty()) {
            trained_[slot] += ids.size();
        }
    }
}

void StepMachine::lose_share(const SlotInfo& info, node::Turn turn) {
    if (const auto node = trained_.extract(info.slot)) {
        turn.out.add(node::Tell{node::ShareLost{info.peer, info.stage, node.mapped()}});
    }
}

bool StepMachine::replicas_train_alone() const {
    return context_.config.mode == run::SyncMode::Sparse && !replicas_exchange();
}

/// Sums of squares of the stage's tensors. They are equal at all members, or a mean over the
/// members where replicas train alone.
std::vector<double> StepMachine::squares_of(StageIndex stage) const {
    const std::vector<SlotId> members = context_.roster.members(stage);
    if (!replicas_train_alone()) {
        return holders_.at(members.front()).sums_of_squares;
    }
    std::vector<double> squares(context_.layouts[stage.value].tensors.size());
    for (const SlotId slot : members) {
        if (const auto held = static_cast<std::uint32_t>(lists_.at(slot).size()); held > 0) {
            run::add_local_squares(
                context_.config, holders_.at(slot).sums_of_squares, held, squares
            );
        }
    }
    return squares;
}

bool StepMachine::is_acceptable(const protocol::Path& path) const {
    if (path.path.size() != context_.config.stages) {
        return false;
    }
    for (std::uint32_t stage = 0; stage < context_.config.stages; ++stage) {
        const SlotInfo* const info = context_.roster.find(path.path[stage]);
        if (!info || info->stage.value != stage || info->standing == protocol::Standing::Observer) {
            return false;
        }
        const auto admitted = admitted_.find(info->slot);
        if (admitted != admitted_.end() && admitted->second > path.attempt) {
            return false;
        }
    }
    return true;
}

void StepMachine::on(SlotId from, const protocol::Path& path, node::Turn turn) {
    const bool open =
        phase_ == Phase::Running || phase_ == Phase::Recalling || phase_ == Phase::Reducing;
    const bool is_tail = context_.roster.find(from)->stage == context_.tail();
    if (!open || path.version != context_.version || !(is_tail || context_.bugs.path_of_anyone) ||
        !ledger_.is_current(path.microbatch, path.attempt)) {
        return;
    }
    // A tail that has lost the slot of this path and got another one has lost its sums, too.
    const bool ends_here = path.path.back() == from || context_.bugs.path_of_anyone;
    const bool counts = is_acceptable(path) && ends_here;
    if (ledger_.is_pathed(path.microbatch)) {
        if (counts) {
            note_second_path(from, path, turn);
        }
    } else if (!counts) {
        ledger_.need(path.microbatch);
    } else {
        waves_.add(ledger_.pathed(path.microbatch, path.path, path.loss, turn.now));
        fruitless_ = 0;
    }
}

void StepMachine::note_second_path(SlotId from, const protocol::Path& path, node::Turn turn) {
    const std::vector<SlotId>& known = ledger_.path_of(path.microbatch);
    if (known.empty() || known == path.path) {
        return;  // every stage holds the microbatch without an attempt, or the tail repeats itself
    }
    ledger_.need(path.microbatch);
    if (known.back() == from) {
        fence_caught(from, "it reported two paths of one attempt", IfLast::Keep, turn);
    } else {
        forks_.note(path.microbatch, {known, path.path});
    }
    if (phase_ == Phase::Reducing) {
        abort_reduce("an attempt came to the loss on two paths", turn);
    }
}

void StepMachine::on(SlotId from, const protocol::Fail& fail, node::Turn turn) {
    if (fail.version != context_.version || phase_ == Phase::Deciding) {
        return;
    }
    if (fail.reason == protocol::FailReason::NotFinite) {
        note_dropped(from, fail, turn);
    }
    const SlotInfo* const about = context_.roster.find(fail.about);
    const bool about_member = about != nullptr;
    const bool about_live = about_member && about->standing == protocol::Standing::Member &&
                            fail.reason != protocol::FailReason::NotFinite;
    if (about_live && ++fails_[from] > kFailsMax) {
        return;  // a hint that is missing costs time alone, and so do hints without end
    }
    for (const protocol::FailedItem& item : fail.items) {
        // A leg that was passed on depends on the peer only through its sums and its graph.
        const bool in_doubt = !item.passed || !about_member;
        if (in_doubt && ledger_.is_current(item.microbatch, item.attempt)) {
            ledger_.need(item.microbatch);
        }
    }
    if (phase_ == Phase::Reducing && (ledger_.needs_recall() || skip_reason_)) {
        if (about_live &&
            ++failed_reduces_[context_.roster.find(from)->peer] >= kFailedReducesMax) {
            fence_caught(
                from, "it gave up work of a live member, twice in a row", IfLast::Keep, turn
            );
        }
        if (phase_ == Phase::Reducing) {
            abort_reduce("a backward was lost", turn);
        }
    }
}

void StepMachine::note_dropped(SlotId from, const protocol::Fail& fail, node::Turn turn) {
    using Verdict = DroppedWork::Verdict;
    const DroppedWork::Stages stages{
        [&](SlotId slot) {
            const SlotInfo* const info = context_.roster.find(slot);
            return info && has_replica(*info);
        },
        [&](const std::set<SlotId>& slots) { return are_most_of_a_stage(slots); }};
    for (const protocol::FailedItem& item : fail.items) {
        if (skip_reason_ || !ledger_.is_current(item.microbatch, item.attempt)) {
            continue;
        }
        const auto [verdict, slot] =
            dropped_.note(item.microbatch, item.attempt, {from, fail.about}, stages);
        if (verdict == Verdict::Skip || context_.bugs.drop_of_one) {
            const StageIndex stage = context_.roster.find(from)->stage;
            skip_reason_ = "microbatch " + std::to_string(item.microbatch.value) +
                           " is not finite in stage " + std::to_string(stage.value);
        } else if (verdict == Verdict::TryWithout) {
            try_without(slot, turn);
        } else if (verdict == Verdict::Fence) {
            // Others may compute what was dropped with it, so the step goes on without it.
            dropped_.clear();
            fence_caught(
                slot, "every microbatch that was dropped was dropped with it", IfLast::Keep, turn
            );
            return;
        }
    }
}

bool StepMachine::are_most_of_a_stage(const std::set<SlotId>& slots) const {
    for (std::uint32_t stage = 0; stage < context_.config.stages; ++stage) {
        const std::vector<SlotId> members = context_.roster.members({stage});
        const auto named =
            std::ranges::count_if(members, [&](SlotId slot) { return slots.contains(slot); });
        if (2 * static_cast<std::size_t>(named) > members.size()) {
            return true;
        }
    }
    return false;
}

void StepMachine::try_without(SlotId slot, node::Turn turn) {
    // Until its next heartbeat the replay goes to another replica.
    if (context_.roster.find(slot)->standing == protocol::Standing::Member) {
        context_.roster.set_standing(slot, protocol::Standing::Suspect);
        launcher_.refresh(turn.now);
    }
}

bool StepMachine::has_replica(const SlotInfo& info) const {
    const std::vector<SlotId> able = context_.roster.pickable(info.stage);
    return std::any_of(able.begin(), able.end(), [&](SlotId slot) { return slot != info.slot; });
}

void StepMachine::on(SlotId from, const protocol::Held& held, node::Turn) {
    if (phase_ != Phase::Recalling || held.version != context_.version || held.epoch != epoch_ ||
        !awaited_.contains(from)) {
        return;
    }
    const SlotInfo* const info = context_.roster.find(from);
    awaited_.erase(from);
    ledger_.held(from, info->stage, held);
}

void StepMachine::on(SlotId from, const protocol::Passed& passed, node::Turn turn) {
    if (passed.leg.version != context_.version) {
        return;
    }
    const SlotInfo* const info = context_.roster.find(from);
    if (info->stage.value == 0) {
        launcher_.on_passed(from, passed.leg, turn.now);
    }
    const MicrobatchId id = passed.leg.microbatch;
    if (!ledger_.is_current(id, passed.leg.attempt)) {
        return;
    }
    const StageMask mask = ledger_.mask(id);
    const bool lowest = mask.has(info->stage) && !mask.has_below(info->stage);
    const protocol::Leg last =
        info->stage == context_.tail() ? protocol::Leg::Forward : protocol::Leg::Backward;
    if (lowest && passed.leg.leg == last) {
        const bool is_new = ledger_.left_flight(id);
        if (is_new && phase_ == Phase::Reducing) {  // there is progress: ids are still being added
            deadline_ = std::max(deadline_, turn.now + timing_.reduce_min);
        }
    }
}

void StepMachine::on(SlotId from, const protocol::Refused& refused, node::Turn turn) {
    const Launcher::Refusal refusal = launcher_.on_refused(from, refused, turn);
    const MicrobatchId id = refused.leg.microbatch;
    if (refusal == Launcher::Refusal::Unknown || !ledger_.is_current(id, refused.leg.attempt)) {
        return;
    }
    const StepLedger::Launch again{id, ledger_.mask(id), false};
    if (refusal == Launcher::Refusal::Elsewhere &&
        launcher_.launch(again, refused.leg.attempt, turn)) {
        ledger_.offered(id, launcher_.holder(id));
    } else {
        ledger_.need(id);
    }
}

void StepMachine::wake(node::Turn turn) {
    launcher_.wake(turn.now);
    if (phase_ == Phase::Running) {
        give_up_overdue(turn);
    }
    if (phase_ == Phase::Recalling && deadline_ <= turn.now) {
        expire_recall(turn);
    }
    if (phase_ == Phase::Reducing) {
        expire_grace(turn);
        if (phase_ == Phase::Reducing && deadline_ <= turn.now) {
            expire_reduce(turn);
        }
    }
}

TimePoint StepMachine::next_deadline() const {
    TimePoint due = launcher_.next_deadline();
    if (phase_ == Phase::Waiting && every_stage_has_member()) {
        due = std::min(due, opened_at_ + timing_.restart_grace);
    }
    if (phase_ == Phase::Running) {
        const TimePoint oldest = ledger_.oldest_launch();
        due = std::min(due, oldest == kNever ? kNever : oldest + wave_limit());
    }
    if (phase_ == Phase::Recalling || phase_ == Phase::Reducing) {
        due = std::min(due, deadline_);
    }
    if (phase_ == Phase::Reducing) {
        const Duration grace = std::max(timing_.holder_grace_min, 4 * reduces_.p95());
        for (const auto& [stage, at] : first_holder_at_) {
            due = std::min(due, at + grace);
        }
    }
    return due;
}

void StepMachine::pardon(TimePoint now) {
    if (deadline_ != kNever) {
        deadline_ = std::max(deadline_, now + timing_.recall_min);
    }
    for (auto& [stage, at] : first_holder_at_) {
        at = now;
    }
}

void StepMachine::give_up_overdue(node::Turn turn) {
    const std::vector<MicrobatchId> overdue = ledger_.launched_before(turn.now - wave_limit());
    if (!overdue.empty() && fruitless_ < kFruitlessMax) {
        ++fruitless_;
    }
    for (const MicrobatchId id : overdue) {
        launcher_.give_up(id, Launcher::Why::Overdue, turn.now);
        ledger_.need(id);
    }
}

Duration StepMachine::wave_limit() const {
    // Before the first wave comes through only the number of stages is known, and a limit that is
    // too short fills every queue with copies. When all waves take longer, because every peer
    // became slower, they would be given up for ever; so the limit doubles until one comes through.
    const Duration usual = waves_.empty() ? timing_.wave_min * context_.config.stages
                                          : std::max(timing_.wave_min, 3 * waves_.p95());
    return usual * (1 << fruitless_);
}

}  // namespace swarm::coordinator
