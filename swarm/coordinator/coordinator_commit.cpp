// The way from a decided step to the next one: the record, COMMIT with its snapshot orders, the
// report, the peers that may leave, checkpoints, and the end of the run.
#include "swarm/coordinator/coordinator.hpp"
#include "swarm/protocol/limits.hpp"
#include "swarm/run/training/batch_growth.hpp"
#include "swarm/run/versions.hpp"

#include <algorithm>
#include <cstring>

namespace swarm::coordinator {

using protocol::SlotInfo;
using protocol::Standing;
using Level = node::LogLine::Level;

namespace {

/// The members of each stage, the oldest first. Stages without a member are left out.
MembersByStage members_by_stage(const run::Roster& roster) {
    MembersByStage members;
    for (const SlotInfo& info : roster.slots()) {  // in the order of slots
        if (info.standing != Standing::Observer) {
            members[info.stage].push_back(info.peer);
        }
    }
    return members;
}

/// The first chunk that holds frozen weights alone: they follow what is trained.
std::uint64_t first_frozen_chunk(const run::StageLayout& layout) {
    const std::uint64_t trained_bytes = layout.state_bytes() - 4 * layout.frozen_elements();
    return (trained_bytes + layout.chunk_bytes_max - 1) / layout.chunk_bytes_max;
}

}  // namespace

void Coordinator::note_holders(node::Turn turn) {
    const MembersRecord record{members_by_stage(context_.roster)};
    if (record.members != history_.members && record.members.size() == context_.config.stages) {
        history_.apply(record);
        append(record, Sync::Later, turn);
    }
}

void Coordinator::record_decision(node::Turn turn) {
    deciding_ = step_.decision();
    if (!deciding_.scalars.skips()) {  // the record of a skip has no room for codecs
        run::LegCodecs next = codec_chooser_.next(context_, measures_, turn.now);
        if (next != context_.codecs) {
            deciding_.codecs = std::move(next);
        }
    }
    note_holders(turn);  // its record lies before that of the commit, whose fsync covers both
    committing_ = append(deciding_, Sync::Now, turn);
    if (options_.bugs.commit_before_fsync) {
        conclude(turn);
    }
}

void Coordinator::conclude(node::Turn turn) {
    const CommitRecord record = std::move(deciding_);
    history_.apply(record);
    context_.version = history_.version;
    votes_.clear();
    claims_due_.clear();
    holders_ = members_by_stage(context_.roster);
    if (moving_.empty() && run::is_shared_version(context_.config, context_.version.step)) {
        cut_to_ = split_chooser_.next(context_, measures_, turn.now);
    }
    const std::vector<protocol::SnapshotOrder> orders = snapshot_orders();
    const protocol::Commit commit{
        record.version, record.epoch, record.scalars, record.result_hashes, orders};
    for (const protocol::SlotInfo& info : context_.roster.slots()) {
        context_.peer_streams.send(info.peer, commit, turn);
    }
    begin_checkpoint(turn);
    report_step(record, turn);
    if (!record.codecs.empty()) {
        context_.codecs = record.codecs;
        const std::string step = std::to_string(context_.version.step);
        turn.out.log(
            Level::Info, "codecs from step " + step + " on: " + run::to_text(record.codecs)
        );
    }
    left_at_commit_.clear();
    release_drained(turn);
    if (run::is_over(context_.config, context_.version.step)) {
        phase_ = Phase::Finishing;
        step_.finish();
    } else if (history_.skips_in_a_row >= kSkipsInARowMax) {
        fail(1, skipped_too_often(record.version.step, *step_.skip_reason()), turn);
    } else {
        step_.open(StartWith::Launch, turn);
        hold_for_cut(turn);
    }
    begin_evaluation(turn);
}

/// Each joiner gets several donors, so that no single line and no single death decides how long its
/// download takes; different joiners get different donors. A joiner for which the commit has no
/// room waits for the next commit.
std::vector<protocol::SnapshotOrder> Coordinator::joiner_orders() {
    std::vector<protocol::SnapshotOrder> orders;
    const std::vector<PeerId> joiners = std::exchange(needs_snapshot_, {});
    const std::size_t each = std::clamp<std::size_t>(
        kSnapshotOrdersMax / std::max<std::size_t>(joiners.size(), 1),
        1,
        // In mode sparse each replica has moments of its own, so a state comes from one donor.
        context_.config.mode == run::SyncMode::Sparse ? 1 : kDonorsMax
    );
    for (const PeerId joiner : joiners) {
        if (orders.size() + each > kSnapshotOrdersMax) {
            needs_snapshot_.push_back(joiner);
            continue;
        }
        const SlotInfo* const info = context_.roster.find_peer(joiner);
        const std::vector<SlotId> donors =
            info ? snapshot_donors(context_.roster, info->stage) : std::vector<SlotId>{};
        const std::size_t first = orders.size();
        for (std::size_t i = 0; i < std::min(each, donors.size()); ++i) {
            orders.push_back({donors[(first + i) % donors.size()], joiner});
        }
    }
    return orders;
}

// Newcomers that a commit waits for cannot wait for that commit, so the last one is repeated with
// orders for them.
void Coordinator::serve_newcomers(node::Turn turn) {
    if (step_.waits_for_holders() && !needs_snapshot_.empty() && history_.last_commit) {
        repeat_commit(joiner_orders(), turn);
    }
}

std::vector<protocol::SnapshotOrder> Coordinator::snapshot_orders() {
    std::vector<protocol::SnapshotOrder> orders = joiner_orders();
    const std::uint64_t version = context_.version.step;
    const std::uint64_t step = run::steps_before(context_.config, version);
    const bool last = run::is_over(context_.config, version);
    const std::uint32_t every = context_.config.checkpoint_every;
    const bool due =
        every > 0 && step % every == 0 && run::is_shared_version(context_.config, version);
    if (last || due || !cut_to_.empty()) {
        for (const protocol::SnapshotOrder& order :
             checkpointer_.order(context_, context_.version)) {
            orders.push_back(order);
        }
    }
    return orders;
}

void Coordinator::report_step(const CommitRecord& record, node::Turn turn) {
    const std::uint64_t step = run::steps_before(context_.config, record.version.step);
    if (record.exchanges()) {
        turn.out.log(
            Level::Debug,
            "the replicas of each stage exchanged what they had changed, after " +
                std::to_string(step) + " steps"
        );
        step_began_ = turn.now;
        return;
    }
    if (record.skips()) {
        turn.out.add(node::Tell{
            node::StepSkipped{step, *step_.skip_reason(), turn.now - step_began_}});
        step_began_ = turn.now;
        return;
    }
    turn.out.add(node::Tell{node::StepCommitted{
        .step = step,
        .loss = record.loss,
        .gradient_norm = record.gradient_norm,
        .took = turn.now - step_began_,
        .expected = run::microbatches_of(context_.config, step),
        .counted = step_.counted(),
        .replayed = step_.ledger().replayed(),
        .fenced = step_.fenced(),
        .wire_bytes = step_.wire_bytes(),
        .codecs = chooses_codecs(context_.config) ? run::to_text(context_.codecs) : ""}});
    step_began_ = turn.now;
    speeds_.note(context_.roster, {0}, launcher_.observed_rates(turn.now));
    for (const auto& [slot, ids] : step_.lists()) {
        if (const SlotInfo* info = context_.roster.find(slot)) {
            const auto count = static_cast<std::uint32_t>(ids.size());
            const double speed = speeds_.units_per_s(slot);
            turn.out.add(node::Tell{node::WorkCounted{step, info->peer, info->stage, count, speed}}
            );
        }
    }
}

void Coordinator::release_drained(node::Turn turn) {
    std::vector<SlotInfo> drained;
    for (const protocol::SlotInfo& info : context_.roster.slots()) {
        // In mode sparse a peer leaves after an exchange, when nothing is lost with it.
        if (info.standing == Standing::Draining && !step_.owes_share(info.slot)) {
            drained.push_back(info);
        }
    }
    for (const SlotInfo& info : drained) {
        if (release_mover(info, turn)) {
            continue;
        }
        context_.roster.remove(info.slot);
        context_.peer_streams.send(info.peer, protocol::Finished{context_.version}, turn);
        context_.detector.forget(info.peer);
        context_.tell(node::PeerChange::Left, info, "drained", turn);
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
    if (phase_ != Phase::Finishing || evaluation_.under_way()) {
        return;
    }
    const bool lacks_checkpoint =
        !final_checkpoint_ && !checkpointer_.under_way() && !checkpoint_stored_;
    if (checkpointer_.take_failure() || lacks_checkpoint) {
        // A donor died, or this process is new: it sends the last commit again, with new orders.
        repeat_commit(checkpointer_.order(context_, context_.version), turn);
        begin_checkpoint(turn);
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

/// Returns the chunks with frozen weights alone: they are equal in every state, and the state that
/// the run began with is here.
run::KnownChunks Coordinator::frozen_chunks(StageIndex stage) {
    run::KnownChunks frozen;
    const run::StageLayout& layout = context_.layouts[stage.value];
    if (!options_.resume || layout.frozen.empty() ||
        stage.value >= options_.resume->chunks.size()) {
        return frozen;
    }
    const std::vector<node::Payload>& chunks = options_.resume->chunks[stage.value];
    const std::vector<std::byte>& manifest = manifest_of(stage);
    for (std::uint64_t number = first_frozen_chunk(layout); number < chunks.size(); ++number) {
        run::KnownChunk& known = frozen[static_cast<std::uint32_t>(number)];
        std::memcpy(&known.digest, &manifest[number * sizeof(Digest)], sizeof(Digest));
        known.chunk = chunks[number];
    }
    return frozen;
}

/// A newer checkpoint is on disk, so the state that the run began with is needed no longer, but for
/// its frozen chunks.
void Coordinator::free_first_state() {
    if (!options_.resume) {
        return;
    }
    for (std::size_t stage = 0; stage < options_.resume->chunks.size(); ++stage) {
        std::vector<node::Payload>& chunks = options_.resume->chunks[stage];
        const std::uint64_t trained = first_frozen_chunk(context_.layouts[stage]);
        for (std::uint64_t number = 0; number < std::min(trained, chunks.size()); ++number) {
            chunks[number] = {};
        }
    }
}

void Coordinator::begin_checkpoint(node::Turn turn) {
    checkpointer_.begin(
        context_, [this](StageIndex stage) { return frozen_chunks(stage); }, turn
    );
}

}  // namespace swarm::coordinator
