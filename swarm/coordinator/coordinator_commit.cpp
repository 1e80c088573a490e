// The way from a decided step to the next one: the record, COMMIT with its snapshot orders, the
// report, and the peers that may leave.
#include "swarm/coordinator/coordinator.hpp"
#include "swarm/protocol/limits.hpp"
#include "swarm/run/versions.hpp"

#include <algorithm>

namespace swarm::coordinator {

using protocol::SlotInfo;
using protocol::Standing;
using Level = node::LogLine::Level;

void Coordinator::record_decision(node::Turn turn) {
    deciding_ = step_.decision();
    if (!deciding_.scalars.skips()) {  // the record of a skip has no room for codecs
        run::LegCodecs next = codec_chooser_.next(context_, measures_, turn.now);
        if (next != context_.codecs) {
            deciding_.codecs = std::move(next);
        }
    }
    committing_ = append(deciding_, Sync::Now, turn);
    if (options_.bugs.commit_before_fsync) {
        conclude(turn);
    }
}

void Coordinator::conclude(node::Turn turn) {
    const CommitRecord record = std::move(deciding_);
    history_.apply(record);
    context_.version = history_.version;
    applied_.clear();
    if (moving_.empty() && run::is_shared_version(context_.config, context_.version.step)) {
        cut_to_ = split_chooser_.next(context_, measures_, turn.now);
    }
    const std::vector<protocol::SnapshotOrder> orders = snapshot_orders();
    const protocol::Commit commit{
        record.version, record.epoch, record.scalars, record.result_hashes, orders};
    for (const protocol::SlotInfo& info : context_.roster.slots()) {
        context_.peer_streams.send(info.peer, commit, turn);
    }
    checkpointer_.begin(context_, turn);
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
        .expected = context_.config.microbatches,
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

}  // namespace swarm::coordinator
