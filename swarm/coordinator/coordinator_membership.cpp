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
        if (!context_.is_client(peer)) {
            context_.clients.push_back(peer);
        }
        const protocol::Assign run{{0}, run_file_, context_.version, false};
        context_.peer_streams.post(peer, run, {}, turn);
        context_.peer_streams.post(peer, context_.roster.message(), {}, turn);
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
    const std::optional<Digest> known = known_state(stage, turn);
    if (!known) {
        waiting_joins_[peer] = join;
        claim(peer, stage, join.state_hash, turn);
        return;
    }
    if (*known != join.state_hash) {
        if (told_wrong_state_.insert(peer).second) {
            turn.out.log(Level::Warning, "a peer's state is not the run's: it fetches a new one");
        }
        assign(peer, join, turn);
        return;
    }
    told_wrong_state_.erase(peer);
    std::erase(needs_snapshot_, peer);
    compare_compute_class(join.compute_class, turn);
    const Incarnation incarnation = context_.peer_streams.find(peer)->incarnation;
    context_.peer_streams.trust(peer);
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
        step_.admit(info, keeps_sums ? HeldSums::Keep : HeldSums::Forget, turn.now);
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
    const bool is_first = context_.version == ParameterVersion{};
    const bool from_seed = is_first && !begins_with_weights();
    const bool from_checkpoint =
        rolled_back_to_ == context_.version || (is_first && begins_with_weights());
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
    // A client, or a peer that was fenced. Its next beat asks again if this roster is lost.
    if (!info && beat.roster != context_.roster.number()) {
        context_.peer_streams.post(peer, context_.roster.message(), {}, turn);
    }
    protocol::HeartbeatReply reply{context_.version, step_.epoch()};
    if (!history_.losses.empty()) {
        reply.loss = history_.losses.back().second;
    }
    reply.held_out_loss = held_out_loss_;
    context_.peer_streams.post(peer, reply, {}, turn);
}

void Coordinator::take(PeerId peer, const protocol::Leave& leave, node::Turn turn) {
    moving_.erase(peer);  // it leaves the run, not for another stage
    const SlotInfo* const found = context_.roster.find_peer(peer);
    if (!found) {
        context_.peer_streams.post(peer, protocol::Finished{context_.version}, {}, turn);
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

void Coordinator::take(PeerId peer, const protocol::Applied& applied) {
    const SlotInfo* const info = context_.roster.find_peer(peer);
    // An observer has what others gave it, so its word counts for nothing.
    if (!info || info->standing == Standing::Observer || applied.version != context_.version) {
        return;
    }
    step_.applied(info->slot);
    votes_.say(info->stage, peer, applied.state_hash);
}

std::optional<Digest> Coordinator::known_state(StageIndex stage, node::Turn turn) {
    const auto known = history_.states.find({context_.version, stage});
    if (known != history_.states.end()) {
        return known->second;
    }
    std::optional<Digest> own;
    if (context_.version == ParameterVersion{} && !begins_with_weights()) {
        own = first_states_.at(stage.value);
    } else if (is_of_checkpoint() && stage.value < options_.resume->chunks.size()) {
        // The manifest is kept for the peers that fetch the state.
        const bool sparse = context_.config.mode == run::SyncMode::Sparse;
        own = sparse ? hash_of_weights(
                           context_.layouts[stage.value], options_.resume->chunks[stage.value]
                       )
                     : sha256(manifest_of(stage));
    }
    if (own) {
        record_state(stage, *own, turn);
    }
    return own;
}

bool Coordinator::is_of_checkpoint() const {
    // A rollback makes a version without a commit, and it goes to the newest checkpoint. The only
    // other one is the first version.
    return options_.resume && !wrote_checkpoint_ && !history_.last_commit &&
           (context_.version != ParameterVersion{} || begins_with_weights()) &&
           options_.resume->version.step == context_.version.step;
}

const std::vector<std::byte>& Coordinator::manifest_of(StageIndex stage) {
    std::vector<std::byte>& manifest = manifests_[stage];
    if (manifest.empty()) {
        for (const node::Payload& chunk : options_.resume->chunks[stage.value]) {
            const Digest digest = sha256(chunk.bytes());
            manifest.insert(manifest.end(), digest.bytes.begin(), digest.bytes.end());
        }
    }
    return manifest;
}

void Coordinator::record_state(StageIndex stage, const Digest& hash, node::Turn turn) {
    const StateRecord record{context_.version, stage, hash};
    history_.apply(record);
    append(record, Sync::Later, turn);
    std::erase_if(history_.states, [&](const auto& entry) {
        return entry.first.first.step + kStatesKept < context_.version.step;
    });
}

/// A peer without a slot says which state it has, and nobody knows yet which one is right.
void Coordinator::claim(PeerId peer, StageIndex stage, const Digest& hash, node::Turn turn) {
    const auto left = left_at_commit_.find(peer);
    const bool moved = left != left_at_commit_.end() && left->second == stage;
    const auto holders = holders_.find(stage);
    // A log of an older program names no members; then the first claim after a restart counts.
    const bool anyone = restarted_ && holders_.empty();
    const bool held = holders != holders_.end() &&
                      std::ranges::find(holders->second, peer) != holders->second.end();
    if (anyone) {
        record_state(stage, hash, turn);
        retake_waiting_joins(turn);
    } else if (moved || held) {
        votes_.say(stage, peer, hash);
        if (electing_members(stage).empty()) {
            claims_due_.try_emplace(stage, turn.now + options_.resume_after / 2);
        }
    }
}

void Coordinator::retake_waiting_joins(node::Turn turn) {
    for (const auto& [joiner, join] : std::exchange(waiting_joins_, {})) {
        take(joiner, join, turn);
    }
}

std::vector<PeerId> Coordinator::electing_members(StageIndex stage) const {
    std::vector<PeerId> peers;
    for (const SlotId slot : context_.roster.members(stage)) {
        const SlotInfo& info = *context_.roster.find(slot);
        // The last member of a stage is waited for when it is silent. It may never come back.
        if (info.standing != Standing::Suspect || context_.roster.members(stage).size() > 1 ||
            votes_.has_spoken(stage, info.peer)) {
            peers.push_back(info.peer);
        }
    }
    for (const auto& [mover, from] : left_at_commit_) {
        if (from == stage && votes_.has_spoken(stage, mover) &&
            std::ranges::find(peers, mover) == peers.end()) {
            peers.push_back(mover);
        }
    }
    return peers;
}

std::vector<PeerId> Coordinator::electors(StageIndex stage) const {
    const std::vector<PeerId> members = electing_members(stage);
    const auto holders = holders_.find(stage);
    return members.empty() && holders != holders_.end() ? holders->second : members;
}

void Coordinator::settle_states(node::Turn turn) {
    const auto is_due = [&](StageIndex stage) {
        const auto due = claims_due_.find(stage);
        return due != claims_due_.end() && due->second <= turn.now;
    };
    const std::vector<StageIndex> stages = votes_.stages();
    const bool changed = votes_.take_changed() || settled_roster_ != context_.roster.number();
    if (!changed && std::ranges::none_of(stages, is_due)) {
        return;
    }
    for (const StageIndex stage : stages) {
        // Members are not hurried: a device that is slow is no reason to believe fewer of them.
        const bool late = is_due(stage) && electing_members(stage).empty();
        const bool hurried = late || context_.bugs.first_vote_counts;
        const std::optional<Digest> fixed = known_state(stage, turn);
        const StateVotes::Verdict verdict =
            votes_.judge(stage, electors(stage), fixed, hurried ? Silent::Ignore : Silent::Wait);
        if (verdict.hash || is_due(stage)) {
            claims_due_.erase(stage);
        }
        for (const PeerId wrong : verdict.wrong) {
            step_.keep_away(wrong, turn.now);
            lose(wrong, "its state differs from its replicas'", IfLast::Fence, turn);
        }
        if (verdict.hash && !fixed) {
            record_state(stage, *verdict.hash, turn);
            retake_waiting_joins(turn);
            if (late && lost_since_ != kNever) {
                lost_since_ = turn.now;  // somebody has the state, and gets a slot soon
            }
        }
    }
    settled_roster_ = context_.roster.number();
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
    const bool joins = context_.roster.find_peer(peer) != nullptr || assigned_.contains(peer);
    const bool have = joins && options_.resume && !wrote_checkpoint_ &&
                      options_.resume->version.step == fetch.version.step &&
                      fetch.stage.value < options_.resume->chunks.size();
    const protocol::ChunkRefused refused{fetch.version, fetch.stage, fetch.chunk, false};
    if (!have) {
        context_.peer_streams.post(peer, refused, {}, turn);
        return;
    }
    const std::vector<node::Payload>& chunks = options_.resume->chunks[fetch.stage.value];
    const protocol::Chunk answer{fetch.version, fetch.stage, fetch.chunk};
    if (!fetch.chunk) {
        std::vector<std::byte> manifest = manifest_of(fetch.stage);
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

}  // namespace swarm::coordinator
