// The part of StageServer that follows the coordinator's decisions: ROSTER, RECALL, REDUCE, COMMIT.
#include "stages/server/stage_server.hpp"
#include "swarm/run/step_scalars.hpp"

#include <tuple>
#include <utility>

namespace stages {

using protocol::Standing;

void StageServer::on_roster(const protocol::Roster& roster, node::Turn turn) {
    if (!context_.roster.replace(roster)) {
        return;
    }
    const auto* const own = context_.roster.find_peer(context_.self);
    const bool member = own && own->incarnation == context_.incarnation &&
                        own->standing != Standing::Observer && context_.worker &&
                        own->stage == context_.stage();
    const std::optional<SlotId> before = context_.slot;
    context_.slot = member ? std::optional(own->slot) : std::nullopt;
    joining_.follow_roster(turn);
    if (before && !context_.slot && context_.version) {
        // The peer was fenced, so its sums are void. With the current version it may return at
        // once. A complete result stays, because its epoch may have been decided.
        joining_.greet(turn);
    }
    if (draining_ && context_.slot && before != context_.slot) {
        ask_to_leave(turn);  // a restarted coordinator does not know of the drain
    }
    if (!context_.worker) {
        return;
    }
    for (const SlotId gone : links_.follow_roster(turn)) {
        if (context_.version) {
            wave_.slot_lost(gone, turn);
        }
    }
    wave_.refresh(turn.now);
    if (before != context_.slot) {
        say_state(turn);
        if (context_.slot && options_.keeps_state) {
            turn.out.log(
                node::LogLine::Level::Info,
                "admitted at step " + std::to_string(context_.version->step) + "; " +
                    std::to_string(joining_.downloaded_bytes()) +
                    " bytes of state downloaded since the start"
            );
        }
    }
}

void StageServer::on_recall(const protocol::Recall& recall, node::Turn turn) {
    if (!context_.slot || context_.version != recall.version) {
        return;
    }
    if (recall.epoch < highest_epoch_) {
        return;  // the recall is of an earlier coordinator process
    }
    highest_epoch_ = recall.epoch;
    reduction_.abort();
    exchange_.abort();
    if (recall.void_all && context_.replica) {
        begin_round_anew(turn);
    }
    context_.tell_coordinator(wave_.recall(recall, turn), turn);
}

void StageServer::on_reduce(const protocol::Reduce& reduce, node::Turn turn) {
    if (!context_.slot) {
        joining_.follow(reduce);
        return;
    }
    if (context_.version != reduce.version || reduce.epoch < highest_epoch_) {
        return;
    }
    highest_epoch_ = reduce.epoch;
    listed_ = static_cast<std::uint32_t>(reduce.ids.size());
    if (context_.is_exchange(reduce.version)) {
        exchange_.start({reduce.epoch, reduce.shares, reduce.group, reduce.observers}, turn);
        return;
    }
    const MicrobatchIds listed(reduce.ids.begin(), reduce.ids.end());
    if (auto lacking = wave_.never_came(listed); !lacking.empty()) {
        // A path that did not lead here was reported. Nobody needs to wait for the deadline.
        context_.tell_coordinator(
            protocol::Mismatch{reduce.version, reduce.epoch, {}, std::move(lacking)}, turn
        );
        reduction_.abort();
        return;
    }
    if (reduction_.start(reduce, wave_.held(), turn)) {
        wave_.seal();
    }
}

void StageServer::begin_round_anew(node::Turn turn) {
    context_.device.submit(turn, 0, [worker = context_.worker, replica = context_.replica] {
        replica->begin_round_anew(replica->shared(), 0);
        worker->use_weights(*replica->shared());
    });
}

bool StageServer::has_result(const protocol::Commit& commit) const {
    if (commit.skips()) {
        return context_.slot.has_value();
    }
    return context_.is_exchange(commit.version) ? exchange_.proposal(commit.epoch) != nullptr
                                                : reduction_.has_result(commit.epoch);
}

protocol::StepScalars StageServer::own_scalars(const protocol::Commit& commit) const {
    if (!context_.replica) {
        return commit.scalars;
    }
    const bool steps =
        !commit.scalars.skips() && !context_.is_exchange(commit.version) && listed_ > 0;
    return steps ? swarm::run::local_scalars(context_.config, commit.scalars, listed_)
                 : protocol::StepScalars{.clip_factor = 0};
}

void StageServer::on_commit(const protocol::Commit& commit, node::Turn turn) {
    if (!context_.worker) {
        return;
    }
    const bool mine = context_.version == commit.version;
    const ParameterVersion made{commit.version.gen, commit.version.step + 1};
    if (mine && !context_.applying && has_result(commit)) {
        apply(commit, turn);
    } else if (context_.version == made) {  // a repeated commit, which was applied before
        context_.tell_coordinator(protocol::Applied{made, context_.state_hash}, turn);
        freeze_if_ordered(commit, turn);
    } else if (!context_.applying) {
        joining_.follow(commit, turn);
    }
}

void StageServer::apply(const protocol::Commit& commit, node::Turn turn) {
    context_.applying = commit;
    snapshots_.forget_idle(turn);  // else the commit copies snapshots that nobody fetches any more
    const protocol::StepScalars scalars = own_scalars(commit);
    const bool exchanges = context_.replica && context_.is_exchange(commit.version);
    const auto proposal = exchanges ? exchange_.proposal(commit.epoch) : nullptr;
    if (commit.scalars.skips()) {  // nothing is sealed, and legs under way must not be added
        reduction_.abort();
        wave_.new_step(turn.now);
    }
    context_.device.submit_for<swarm::Digest>(
        turn,
        0,
        [worker = context_.worker,
         replica = context_.replica,
         step = commit.version.step,
         scalars,
         listed = listed_,
         exchanges,
         proposal](swarm::Digest& hash) {
            worker->drop_all_graphs();
            hash = worker->apply(scalars, step);
            if (exchanges) {  // a skipped exchange leaves the shared weights as they are
                replica->adopt(proposal ? proposal : replica->shared());
                worker->use_weights(*replica->shared());
            } else if (replica && !scalars.skips()) {
                replica->trained_on(listed);
            }
            hash = replica ? SparseReplica::hash_of(replica->shared()) : hash;
        },
        [this](swarm::Digest& hash, node::Turn later) {
            const protocol::Commit done = *std::exchange(context_.applying, std::nullopt);
            const ParameterVersion made{done.version.gen, done.version.step + 1};
            context_.version = made;
            context_.state_hash = hash;
            context_.tell_coordinator(protocol::Applied{made, hash}, later);
            note_progress(done, later);
            freeze_if_ordered(done, later);
            after_state_change(later);
            if (!context_.slot && context_.version == made) {
                joining_.greet(later);
            }
        }
    );
}

void StageServer::freeze_if_ordered(const protocol::Commit& commit, node::Turn turn) {
    for (const protocol::SnapshotOrder& order : commit.snapshots) {
        if (context_.slot && order.donor == *context_.slot) {
            snapshots_.freeze(*context_.version, turn);
        }
    }
}

void StageServer::after_state_change(node::Turn turn) {
    highest_epoch_ = {};
    reduction_.new_step();
    exchange_.new_step();
    if (context_.version) {
        wave_.new_step(turn.now);
    } else {
        wave_.assigned();
        snapshots_.forget_all(turn);
    }
    // Slots that are gone need no report: nothing of the new version was offered to them.
    std::ignore = links_.follow_roster(turn);
    wave_.refresh(turn.now);
    say_state(turn);
    cache_.look(joining_.run_file(), turn);
    redeliver(turn);
}

void StageServer::peer_lost(PeerId peer, node::Turn turn) {
    const auto* const info = context_.roster.find_peer(peer);
    if (info && context_.version) {
        wave_.slot_lost(info->slot, turn);
    }
    inference_.peer_lost(peer, turn);
    evaluation_.peer_lost(peer, turn);
    joining_.peer_lost(peer, turn);
}

}  // namespace stages
