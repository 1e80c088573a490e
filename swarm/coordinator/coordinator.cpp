#include "swarm/coordinator/coordinator.hpp"

#include "swarm/base/check.hpp"
#include "swarm/protocol/limits.hpp"
#include "swarm/run/versions.hpp"

#include <algorithm>
#include <variant>

namespace swarm::coordinator {

using node::Lane;
using protocol::SlotInfo;
using protocol::Standing;
using Level = node::LogLine::Level;
using Verdict = FailureDetector::Verdict;

Coordinator::Coordinator(Options options)
    : options_(std::move(options)),
      run_file_(run::to_toml(run::for_peers(options_.config))),
      context_{
          .config = options_.config,
          .layouts = run::partition(options_.config),
          .bugs = options_.bugs,
          .roster = run::Roster(options_.config.stages),
          .codecs = run::first_codecs(options_.config)},
      launcher_(context_, options_.corpus, options_.config.seed, options_.rows),
      step_(context_, launcher_, options_.timing),
      checkpointer_(options_.checkpoints),
      placement_(context_.config, context_.layouts),
      evaluation_(context_, options_.held_out),
      held_out_watch_(options_.config.eval.patience, options_.best_held_out) {}

void Coordinator::on(const node::Event& event, TimePoint now, node::Outbox& out) {
    const node::Turn turn{now, out};
    std::visit([&](const auto& occurred) { handle(occurred, turn); }, event);
    if (phase_ == Phase::Open || phase_ == Phase::Finishing) {
        settle_states(turn);
        advance_evaluation(turn);
        const bool waited_for_peers = step_.phase() == StepMachine::Phase::Waiting;
        step_.advance(turn);
        if (waited_for_peers && step_.phase() != StepMachine::Phase::Waiting) {
            step_began_ = turn.now;
        }
        if (step_.phase() == StepMachine::Phase::Deciding && !committing_) {
            record_decision(turn);
        }
        serve_newcomers(turn);
        write_checkpoint(turn);
        watch_cut(turn);
        finish(turn);
    }
}

TimePoint Coordinator::next_deadline() const {
    if (phase_ == Phase::Starting) {
        return kAtOnce;
    }
    if (phase_ != Phase::Open && phase_ != Phase::Finishing) {
        return kNever;
    }
    TimePoint due = std::min(context_.detector.next_deadline(), step_.next_deadline());
    due = std::min({due, checkpointer_.next_deadline(), evaluation_.next_deadline()});
    for (const auto& [stage, at] : claims_due_) {
        due = std::min(due, at);
    }
    if (phase_ == Phase::Open) {
        due = std::min({due, placement_.next_deadline(), cut_by_});
    }
    if (lost_since_ != kNever && claims_due_.empty()) {
        due = std::min(due, lost_since_ + lost_stage_patience());
    }
    return due;
}

node::Allowance Coordinator::allowance(const PeerId& peer) const {
    using node::Acquaintance;
    const SlotInfo* const info = context_.roster.find_peer(peer);
    node::Allowance allowed = node::Allowance::without_tensors(Acquaintance::Stranger);
    if (info && info->standing != Standing::Observer) {
        allowed = {Acquaintance::Partner, protocol::kControlBytesMax};
        allowed.tensor_bytes = protocol::kChunkTensorBytesMax;
    } else if (info || context_.is_client(peer) || assigned_.contains(peer)) {
        allowed.acquaintance = Acquaintance::Guest;
    }
    return allowed;
}

void Coordinator::handle(const node::Woke&, node::Turn turn) {
    if (phase_ == Phase::Starting) {
        phase_ = Phase::Loading;
        turn.out.add(node::Load{});
        return;
    }
    judge(turn);
    step_.wake(turn);
    checkpointer_.wake(turn);
    watch_lost_stage(turn);
    if (phase_ == Phase::Open) {
        const auto lent = [&](PeerId peer) { return context_.peer_streams.lent_memory(peer); };
        begin_moves(placement_.decide(context_.roster, turn.now, lent), turn);
    }
}

void Coordinator::handle(const node::Loaded& loaded, node::Turn turn) {
    Result<RunHistory> history = replay_log(loaded.records);
    if (!history) {
        fail(3, history.error().detail, turn);
        return;
    }
    history_ = std::move(*history);
    restarted_ = history_.cinc > 0;
    context_.cinc = history_.cinc + 1;
    context_.version = history_.version;
    // The logged codecs fit only as many boundaries, and a run may go on with other stages.
    if (!history_.codecs.empty() &&
        history_.codecs.back().codecs.size() == context_.codecs.size()) {
        context_.codecs = history_.codecs.back().codecs;
    }
    context_.roster = run::Roster(context_.config.stages, context_.cinc);
    if (!leave_old_split(turn) || !leave_old_settings(turn)) {
        return;
    }
    holders_ = history_.members;
    make_first_states();
    const CincRecord record{context_.cinc, run::layers_of(context_.layouts), options_.settings};
    history_.apply(record);
    phase_ = Phase::Opening;
    opening_ = append(record, Sync::Now, turn);
}

/// Nobody is linked yet, so nobody waits for these seconds.
void Coordinator::make_first_states() {
    first_states_.assign(context_.config.stages, {});
    if (context_.version != ParameterVersion{} || begins_with_weights()) {
        return;
    }
    for (std::uint32_t stage = 0; stage < context_.config.stages; ++stage) {
        if (!history_.states.contains({context_.version, {stage}})) {
            first_states_[stage] = options_.first_state({stage});
        }
    }
}

void Coordinator::handle(const node::Stored& stored, node::Turn turn) {
    if (opening_ == stored.store) {
        opening_.reset();
        open_for_peers(turn);
    } else if (committing_ == stored.store) {
        committing_.reset();
        if (!options_.bugs.commit_before_fsync) {
            conclude(turn);
        }
    } else if (checkpoint_stored_ == stored.store) {
        checkpoint_stored_.reset();
        wrote_checkpoint_ = true;
        free_first_state();
        const ParameterVersion version = checkpointer_.version();
        turn.out.add(node::Tell{node::CheckpointWritten{version, checkpoint_files_->name}});
        if (run::is_over(context_.config, version.step)) {
            weights_sha256_ = checkpoint_files_->weights_sha256();
            final_checkpoint_ = true;
        }
        checkpoint_files_.reset();
        if (cut_by_ != kNever && version == context_.version) {
            cut_anew_ = cut_to_;
            phase_ = Phase::Ended;
        }
    }
}

void Coordinator::open_for_peers(node::Turn turn) {
    step_began_ = turn.now;
    if (options_.ended_after == context_.version.step) {
        context_.config.steps = context_.version.step;
    }
    if (!run::is_over(context_.config, context_.version.step)) {
        phase_ = Phase::Open;
        lost_since_ = turn.now;
        step_.open(restarted_ ? StartWith::Recall : StartWith::Launch, turn);
        return;
    }
    phase_ = Phase::Finishing;  // nothing is left to train
    step_.finish();
    if (options_.resume && options_.resume->version.step == context_.version.step) {
        const Result<run::CheckpointFiles> files =
            options_.checkpoints->make_files(*options_.resume);
        if (files) {
            for (const run::CheckpointFile& file : files->files) {
                static_cast<void>(file.content());  // nobody has joined, so nobody waits
            }
            weights_sha256_ = files->weights_sha256();
            final_checkpoint_ = true;
        }
    }
}

void Coordinator::handle(const node::LinkUp& up, node::Turn turn) {
    if (!context_.peer_streams.find(up.peer) && !make_room()) {
        turn.out.add(node::Close{up.peer, up.lane}
        );  // an open run bounds the peers that it remembers
        return;
    }
    if (context_.peer_streams.link_up(up, turn)) {
        // A new incarnation proves that the old one is gone.
        lose(up.peer, "it restarted", IfLast::Fence, turn);
        reachability_.forget(up.peer);
        assigned_.erase(up.peer);
    }
    context_.detector.link_restored(up.peer, turn.now);
    launcher_.refresh(turn.now);
    const SlotInfo* const info = context_.roster.find_peer(up.peer);
    if (info && up.lane == Lane::Bulk) {
        launcher_.resend(info->slot, turn);
    }
}

bool Coordinator::make_room() {
    if (context_.peer_streams.size() < protocol::kRosterMax) {
        return true;
    }
    const std::optional<PeerId> gone = context_.peer_streams.longest_gone(context_.roster, 0);
    if (gone) {
        forget(*gone);
    }
    return gone.has_value();
}

void Coordinator::forget(PeerId peer) {
    context_.peer_streams.forget(peer);
    reachability_.forget(peer);
    waiting_joins_.erase(peer);
    commit_repeated_.erase(peer);
    moving_.erase(peer);
    left_at_commit_.erase(peer);
    has_settings_.erase(peer);
    told_wrong_state_.erase(peer);
}

void Coordinator::handle(const node::LinkDown& down, node::Turn turn) {
    context_.peer_streams.link_down(down, turn.now);
    if (down.lane == Lane::Control) {
        context_.detector.link_lost(down.peer, turn.now);
        if (std::erase(context_.clients, down.peer) > 0 && !context_.roster.find_peer(down.peer)) {
            forget(down.peer);
        }
        assigned_.erase(down.peer);  // a peer with a slot is counted in the roster
        if (!context_.roster.find_peer(down.peer)) {
            moving_.erase(down.peer);  // a peer without a slot is not watched
        }
    }
    if (context_.peer_streams.left_nothing(down.peer) && !context_.roster.find_peer(down.peer)) {
        forget(down.peer);
    }
    constexpr std::size_t kKept = protocol::kGoneNewcomersMax;
    if (const auto gone = context_.peer_streams.longest_gone(context_.roster, kKept)) {
        forget(*gone);
    }
    checkpointer_.donor_lost(down.peer, turn);
    launcher_.refresh(turn.now);
}

void Coordinator::handle(const node::Received& received, node::Turn turn) {
    if (phase_ != Phase::Open && phase_ != Phase::Finishing && phase_ != Phase::Complete) {
        turn.out.add(node::Close{received.peer, received.lane});  // the peer will try again
        return;
    }
    if (!context_.peer_streams.receive(received, turn)) {
        return;
    }
    context_.detector.heard(received.peer, turn.now);
    const auto& body = received.message.body;
    if (const auto* join = std::get_if<protocol::Join>(&body)) {
        take(received.peer, *join, turn);
    } else if (const auto* beat = std::get_if<protocol::Heartbeat>(&body)) {
        take(received.peer, *beat, turn);
    } else if (const auto* leave = std::get_if<protocol::Leave>(&body)) {
        take(received.peer, *leave, turn);
    } else if (const auto* applied = std::get_if<protocol::Applied>(&body)) {
        take(received.peer, *applied);
    } else if (const auto* fetch = std::get_if<protocol::Fetch>(&body)) {
        take(received.peer, *fetch, turn);
    } else if (const auto* chunk = std::get_if<protocol::Chunk>(&body)) {
        checkpointer_.on(received.peer, *chunk, received.payload, turn);
    } else if (const auto* refused = std::get_if<protocol::ChunkRefused>(&body)) {
        checkpointer_.on(received.peer, *refused, turn);
    } else if (const auto* evaluated = std::get_if<protocol::Evaluated>(&body)) {
        evaluation_.on(received.peer, *evaluated, turn);
    } else if (protocol::is_meant_for_a_hub(body)) {
        const protocol::Misdirected here{protocol::HubKind::Coordinator};
        context_.peer_streams.post(received.peer, here, {}, turn);
    } else {
        take_from_member(received, turn);
    }
}

void Coordinator::take_from_member(const node::Received& received, node::Turn turn) {
    const SlotInfo* const info = context_.roster.find_peer(received.peer);
    if (!info || info->standing == Standing::Observer || phase_ != Phase::Open) {
        return;  // the reports of a fenced slot do not count
    }
    const SlotId slot = info->slot;
    const auto& body = received.message.body;
    if (const auto* accepted = std::get_if<protocol::Accepted>(&body)) {
        launcher_.on_accepted(slot, accepted->leg, turn.now);
    } else if (const auto* refused = std::get_if<protocol::Refused>(&body)) {
        step_.on(slot, *refused, turn);
    } else if (const auto* passed = std::get_if<protocol::Passed>(&body)) {
        step_.on(slot, *passed, turn);
    } else if (const auto* path = std::get_if<protocol::Path>(&body)) {
        step_.on(slot, *path, turn);
    } else if (const auto* failed = std::get_if<protocol::Fail>(&body)) {
        step_.on(slot, *failed, turn);
    } else if (const auto* held = std::get_if<protocol::Held>(&body)) {
        step_.on(slot, *held, turn);
    } else if (const auto* reduced = std::get_if<protocol::Reduced>(&body)) {
        step_.on(slot, *reduced, turn);
    } else if (const auto* mismatch = std::get_if<protocol::Mismatch>(&body)) {
        step_.on(slot, *mismatch, turn);
    } else if (const auto* stuck = std::get_if<protocol::Stuck>(&body)) {
        step_.on(slot, *stuck, turn);
    }
}

void Coordinator::handle(const node::Asked& asked, node::Turn) {
    released_ = released_ || std::holds_alternative<node::ReleaseRequest>(asked.request);
}

void Coordinator::judge(node::Turn turn) {
    const TimePoint due = context_.detector.next_deadline();
    if (due != kNever && due < turn.now - FailureDetector::Timing{}.stalled_when_late_by) {
        step_.pardon(turn.now);  // this process itself was frozen
    }
    for (const auto& [peer, verdict] : context_.detector.judge(turn.now)) {
        const SlotInfo* const info = context_.roster.find_peer(peer);
        if (!info) {
            continue;
        }
        if (verdict == Verdict::Dead) {
            const bool linked = context_.peer_streams.is_linked(peer);
            lose(peer, linked ? "silent for 6 s" : "its link was gone for 2 s", IfLast::Keep, turn);
        } else if (info->standing == Standing::Member) {
            context_.roster.set_standing(info->slot, Standing::Suspect);
            const SlotInfo& suspect = *context_.roster.find_peer(peer);
            context_.tell(node::PeerChange::Suspect, suspect, "silent for 4 s", turn);
            launcher_.refresh(turn.now);
        }
    }
}

void Coordinator::lose(PeerId peer, const std::string& reason, IfLast if_last, node::Turn turn) {
    moving_.erase(peer);
    const SlotInfo* const info = context_.roster.find_peer(peer);
    if (!info) {
        return;
    }
    checkpointer_.donor_lost(peer, turn);
    waiting_joins_.erase(peer);
    votes_.forget(peer);
    if (info->standing == Standing::Observer) {
        std::erase(needs_snapshot_, peer);
        context_.roster.remove(info->slot);
    } else {
        const StageIndex stage = info->stage;
        if (!step_.fence(info->slot, reason, if_last, turn)) {
            context_.detector.watch(
                peer, turn.now
            );  // it is the last of its stage, so it is waited for
            if (!context_.peer_streams.is_linked(peer)) {
                context_.detector.link_lost(peer, turn.now);
            }
        }
        if (context_.roster.pickable(stage).empty()) {
            call_back_movers(stage, turn);
        }
    }
    watch_lost_stage(turn);
}

StoreId Coordinator::append(const LogRecord& record, Sync sync, node::Turn turn) {
    const StoreId store{next_store_++};
    turn.out.add(node::Append{store, to_line(record), sync == Sync::Now});
    return store;
}

void Coordinator::fail(int exit_code, std::string text, node::Turn turn) {
    phase_ = Phase::Ended;
    turn.out.add(node::Tell{node::RunFailed{exit_code, std::move(text)}});
}

}  // namespace swarm::coordinator
