// Peers that come, return and leave: the coordinator's answers to JOIN, HEARTBEAT, LEAVE, APPLIED
// and FETCH.
#include "swarm/coordinator/coordinator.hpp"
#include "swarm/protocol/limits.hpp"
#include "swarm/run/state_chunk.hpp"

#include <algorithm>

namespace swarm::coordinator {

using protocol::SlotInfo;
using protocol::Standing;
using Level = node::LogLine::Level;

namespace {

/// Versions whose state hashes are kept, so that a checkpoint in the making can be checked.
constexpr std::uint64_t kStatesKept = 64;

}  // namespace

void Coordinator::take(PeerId peer, const protocol::Join& join, node::Turn turn) {
    if (join.client) {
        if (std::find(context_.clients.begin(), context_.clients.end(), peer) ==
            context_.clients.end()) {
            context_.clients.push_back(peer);
        }
        context_.peer_streams.send(
            peer, protocol::Assign{{0}, run_file_, context_.version, false}, turn
        );
        context_.peer_streams.send(peer, context_.roster.message(), turn);
        return;
    }
    context_.peer_streams.set_lent_memory(peer, join.lent_memory_bytes);
    const SlotInfo* const info = context_.roster.find_peer(peer);
    if (info && info->standing != Standing::Observer) {
        return;  // the peer has its slot; the Roster is on its way
    }
    if (moving_.contains(peer)) {
        if (may_be_needed_back(peer)) {
            const StageIndex from = left_at_commit_.at(peer);
            waiting_joins_[peer] = join;
            if (context_.roster.pickable(from).empty()) {
                call_back_movers(from, turn);
            }
            return;
        }
        assign(peer, join, turn);  // the state of its old stage is of no use in the other stage
        return;
    }
    if (context_.roster.slots().size() >= protocol::kRosterMax) {
        turn.out.add(node::Close{peer, node::Lane::Control});
        return;
    }
    const bool brings_state = join.stage && join.stage->value < context_.config.stages &&
                              join.state_hash != Digest{} && !has_old_settings(peer);
    if (brings_state && (context_.roster.pickable(*join.stage).empty() ||
                         !unreached_near(peer, *join.stage, turn.now))) {
        consider_state(peer, join, turn);
    } else {
        assign(peer, join, turn);
    }
}

void Coordinator::consider_state(PeerId peer, const protocol::Join& join, node::Turn turn) {
    const StageIndex stage = *join.stage;
    if (join.version != context_.version) {
        const bool one_behind = join.version.gen == context_.version.gen &&
                                join.version.step + 1 == context_.version.step;
        const auto repeated = commit_repeated_.find(peer);
        const bool repeat =
            repeated == commit_repeated_.end() || repeated->second != context_.version;
        if (one_behind && history_.last_commit && repeat) {
            // The peer may hold the result of that epoch; then it catches up without a download.
            commit_repeated_[peer] = context_.version;
            const CommitRecord& last = *history_.last_commit;
            context_.peer_streams.send(
                peer,
                protocol::Commit{last.version, last.epoch, last.scalars, last.result_hashes, {}},
                turn
            );
        } else if (!context_.roster.find_peer(peer)) {
            assign(peer, join, turn);
        }
        return;
    }
    const auto known = history_.states.find({context_.version, stage});
    const bool first_version = context_.version.step == 0 && context_.version.gen == 0;
    const bool from_checkpoint = rolled_back_to_ == context_.version;
    const auto left = left_at_commit_.find(peer);
    const bool held_it = left != left_at_commit_.end() && left->second == stage;
    if (known == history_.states.end() &&
        (first_version || from_checkpoint || restarted_ || held_it)) {
        const StateRecord record{context_.version, stage, join.state_hash};
        history_.apply(record);
        append(record, Sync::Later, turn);
    } else if (known == history_.states.end()) {
        waiting_joins_[peer] = join;  // a member must first say which state is right
        return;
    } else if (known->second != join.state_hash) {
        turn.out.log(Level::Warning, "a peer's state is not the run's: it fetches a new one");
        assign(peer, join, turn);
        return;
    }
    std::erase(needs_snapshot_, peer);
    compare_compute_class(join.compute_class, turn);
    const Incarnation incarnation = context_.peer_streams.find(peer)->incarnation;
    // After a restart of this process the members come back with sums that are still good.
    const bool keeps_sums = restarted_ && step_.phase() == StepMachine::Phase::Waiting;
    const SlotInfo info{
        .slot = {},
        .peer = peer,
        .incarnation = incarnation,
        .stage = stage,
        .admitted = {},
        .standing = Standing::Member,
        .address = join.address};
    if (phase_ == Phase::Finishing) {
        // Nothing is left to train, but the peer may donate its state.
        if (const SlotInfo* const observer = context_.roster.find_peer(peer)) {
            context_.roster.remove(observer->slot);
        }
        context_.roster.add(info);
        context_.send_roster_if_changed(turn);
    } else {
        step_.admit(info, keeps_sums ? HeldSums::Keep : HeldSums::Forget);
    }
}

void Coordinator::compare_compute_class(const std::string& compute_class, node::Turn turn) {
    if (compute_class.empty() || !compute_classes_.insert(compute_class).second) {
        return;
    }
    if (compute_classes_.size() > 1) {
        turn.out.log(
            Level::Warning,
            "a peer of another compute class joined (" + compute_class +
                "): replicas stay equal, but the run no longer equals one process bit for bit"
        );
    }
}

void Coordinator::assign(PeerId peer, const protocol::Join& join, node::Turn turn) {
    assigned_.erase(peer
    );  // an earlier assignment must not count when the neediest stage is chosen
    const SlotInfo* const known = context_.roster.find_peer(peer);
    const std::optional<StageIndex> found = known               ? known->stage
                                            : keeps_stage(join) ? *join.stage
                                                                : stage_for(peer, turn.now);
    if (!found) {
        send_to_standby(peer, turn);
        return;
    }
    const StageIndex stage = *found;
    const bool from_seed = context_.version.step == 0 && context_.version.gen == 0;
    const bool from_checkpoint = rolled_back_to_ == context_.version;
    assigned_[peer] = stage;
    if (!from_seed && !from_checkpoint) {
        if (!known) {
            const Incarnation incarnation = context_.peer_streams.find(peer)->incarnation;
            const SlotId slot = context_.roster.add(
                {.slot = {},
                 .peer = peer,
                 .incarnation = incarnation,
                 .stage = stage,
                 .admitted = {},
                 .standing = Standing::Observer,
                 .address = join.address}
            );
            context_.detector.watch(peer, turn.now);
            context_.tell(node::PeerChange::Observing, *context_.roster.find(slot), "", turn);
        }
        if (std::find(needs_snapshot_.begin(), needs_snapshot_.end(), peer) ==
            needs_snapshot_.end()) {
            needs_snapshot_.push_back(peer);
        }
    }
    if (settings_changed_) {
        has_settings_.insert(peer);
    }
    protocol::Assign assign{stage, run_file_, context_.version, from_seed};
    assign.from_coordinator = from_checkpoint;
    context_.peer_streams.send(peer, std::move(assign), turn);
}

void Coordinator::take(PeerId peer, const protocol::Heartbeat& beat, node::Turn turn) {
    const SlotInfo* info = context_.roster.find_peer(peer);
    if (info && info->standing == Standing::Suspect) {
        context_.roster.set_standing(info->slot, Standing::Member);
        info = context_.roster.find_peer(peer);
        launcher_.refresh(turn.now);
        watch_lost_stage(turn);
    }
    if (info && info->standing == Standing::Member) {
        placement_.note(context_.roster, info->slot, beat.rates);
        speeds_.note(context_.roster, {info->stage.value + 1}, beat.rates);
        measures_.note(context_.roster, info->slot, beat.own);
    }
    if (placement_.wants_own_rates(turn.now)) {
        const auto rates = launcher_.observed_rates(turn.now);
        placement_.note_own(context_.roster, rates, turn.now);
    }
    if (info) {
        part_those_cut_off(peer, beat.cut_off, turn);
        info = context_.roster.find_peer(peer);
    }
    if (!info && beat.roster != context_.roster.number()) {
        context_.peer_streams.send(peer, context_.roster.message(), turn);  // the peer was fenced
    }
    protocol::HeartbeatReply reply{context_.version, step_.epoch()};
    if (!history_.losses.empty()) {
        reply.loss = history_.losses.back().second;
    }
    context_.peer_streams.post(peer, reply, {}, turn);
}

void Coordinator::take(PeerId peer, const protocol::Leave& leave, node::Turn turn) {
    moving_.erase(peer);  // it leaves the run, not for another stage
    const SlotInfo* const found = context_.roster.find_peer(peer);
    if (!found) {
        context_.peer_streams.send(peer, protocol::Finished{context_.version}, turn);
        return;
    }
    const SlotInfo info = *found;
    if (info.standing == Standing::Observer || step_.may_leave(info.slot)) {
        context_.roster.remove(info.slot);
        context_.detector.forget(peer);
        context_.peer_streams.send(peer, protocol::Finished{context_.version}, turn);
        context_.tell(node::PeerChange::Left, info, leave.reason, turn);
    } else {
        context_.roster.set_standing(info.slot, Standing::Draining);
    }
    launcher_.refresh(turn.now);
}

void Coordinator::take(PeerId peer, const protocol::Applied& applied, node::Turn turn) {
    const SlotInfo* const info = context_.roster.find_peer(peer);
    if (!info || applied.version != context_.version) {
        return;
    }
    step_.applied(info->slot);
    const StageIndex stage = info->stage;
    const auto [known, is_first] =
        history_.states.try_emplace({applied.version, stage}, applied.state_hash);
    if (is_first) {
        append(StateRecord{applied.version, stage, applied.state_hash}, Sync::Later, turn);
        std::erase_if(history_.states, [&](const auto& entry) {
            return entry.first.first.step + kStatesKept < applied.version.step;
        });
        for (const auto& [joiner, join] : std::exchange(waiting_joins_, {})) {
            take(joiner, join, turn);
        }
    }
    auto& hashes = applied_[stage];
    hashes[peer] = applied.state_hash;
    std::map<Digest, std::size_t> votes;
    for (const auto& [voter, hash] : hashes) {
        ++votes[hash];
    }
    if (votes.size() < 2) {
        return;
    }
    const bool tie = votes.size() == 2 && votes.begin()->second == votes.rbegin()->second;
    if (tie && hashes.size() == context_.roster.members(stage).size()) {
        fail(
            1,
            "the replicas of stage " + std::to_string(stage.value) +
                " disagree on its state, half against half: stop the run and resume it from "
                "the last checkpoint with one of them",
            turn
        );
        return;
    }
    const std::size_t most =
        std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) {
            return a.second < b.second;
        })->second;
    if (votes[applied.state_hash] < most) {
        lose(peer, "its state differs from its replicas'", IfLast::Fence, turn);
    }
}

/// A client asks for the next chunk when it has the one before, so one chunk is under way.
void Coordinator::give_tokenizer(PeerId peer, const protocol::Fetch& fetch, node::Turn turn) {
    const std::uint64_t from = fetch.chunk.value_or(0) * protocol::kChunkBytes;
    if (options_.tokenizer.empty() || from > options_.tokenizer.size()) {
        const protocol::ChunkRefused refused{fetch.version, fetch.stage, fetch.chunk, false};
        return context_.peer_streams.post(peer, refused, {}, turn);
    }
    const auto file = std::as_bytes(std::span(options_.tokenizer)).subspan(from);
    const auto chunk = file.first(std::min<std::size_t>(file.size(), protocol::kChunkBytes));
    const auto size = static_cast<std::uint32_t>(chunk.size());
    node::Payload payload(
        {protocol::Dtype::Bytes, protocol::CodecId::None, {size}},
        std::vector<std::byte>(chunk.begin(), chunk.end())
    );
    const protocol::Chunk answer{fetch.version, fetch.stage, fetch.chunk};
    context_.peer_streams.post(peer, answer, std::move(payload), turn);
}

void Coordinator::take(PeerId peer, const protocol::Fetch& fetch, node::Turn turn) {
    if (fetch.tokenizer) {
        return give_tokenizer(peer, fetch, turn);
    }
    const bool have = options_.resume && options_.resume->version.step == fetch.version.step &&
                      fetch.stage.value < options_.resume->chunks.size();
    const protocol::ChunkRefused refused{fetch.version, fetch.stage, fetch.chunk, false};
    if (!have) {
        context_.peer_streams.post(peer, refused, {}, turn);
        return;
    }
    const std::vector<node::Payload>& chunks = options_.resume->chunks[fetch.stage.value];
    const protocol::Chunk answer{fetch.version, fetch.stage, fetch.chunk};
    if (!fetch.chunk) {
        std::vector<std::byte> manifest;
        for (const node::Payload& chunk : chunks) {
            const Digest digest = sha256(chunk.bytes());
            manifest.insert(manifest.end(), digest.bytes.begin(), digest.bytes.end());
        }
        const auto size = static_cast<std::uint32_t>(manifest.size());
        node::Payload payload(
            {protocol::Dtype::Bytes, protocol::CodecId::None, {size}}, std::move(manifest)
        );
        context_.peer_streams.post(peer, answer, std::move(payload), turn);
    } else if (*fetch.chunk < chunks.size()) {
        context_.peer_streams.post(peer, answer, run::pack_chunk(chunks[*fetch.chunk]), turn);
    } else {
        context_.peer_streams.post(peer, refused, {}, turn);
    }
}

void Coordinator::write_checkpoint(node::Turn turn) {
    if (checkpoint_files_ || checkpoint_stored_) {
        return;
    }
    checkpoint_files_ = checkpointer_.take_files(history_, turn);
    if (!checkpoint_files_) {
        return;
    }
    for (run::CheckpointFile& file : checkpoint_files_->files) {
        turn.out.add(node::WriteFile{StoreId{next_store_++}, file.name, {}, std::move(file.content)}
        );
    }
    const CheckpointRecord record{checkpointer_.version(), checkpoint_files_->name};
    history_.apply(record);
    checkpoint_stored_ = append(record, Sync::Now, turn);
    checkpoint_files_->files.clear();  // the host has the files
}

void Coordinator::repeat_commit(
    const std::vector<protocol::SnapshotOrder>& orders, node::Turn turn
) {
    const CommitRecord& last = *history_.last_commit;
    for (const protocol::SlotInfo& info : context_.roster.slots()) {
        if (!orders.empty()) {
            context_.peer_streams.send(
                info.peer,
                protocol::Commit{
                    last.version, last.epoch, last.scalars, last.result_hashes, orders},
                turn
            );
        }
    }
}

void Coordinator::finish(node::Turn turn) {
    if (phase_ != Phase::Finishing) {
        return;
    }
    const bool lacks_checkpoint =
        !final_checkpoint_ && !checkpointer_.under_way() && !checkpoint_stored_;
    if (checkpointer_.take_failure() || lacks_checkpoint) {
        // A donor died, or this process is new: it sends the last commit again, with new orders.
        repeat_commit(checkpointer_.order(context_, context_.version), turn);
        checkpointer_.begin(context_, turn);
    }
    if (weights_sha256_) {
        turn.out.add(node::Tell{
            node::RunFinished{context_.version, *std::exchange(weights_sha256_, {})}});
    }
    if (released_ && !checkpointer_.under_way() && !checkpoint_stored_) {
        for (const PeerId peer : context_.peer_streams.peers()) {  // also those that were fenced
            context_.peer_streams.send(peer, protocol::Finished{context_.version}, turn);
        }
        phase_ = Phase::Complete;
    }
}

}  // namespace swarm::coordinator
