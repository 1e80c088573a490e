// The part of Joining that follows commits as an observer, from the snapshot to the admission.
#include "stages/server/joining.hpp"

#include <algorithm>
#include <utility>

namespace stages {

using Level = node::LogLine::Level;

std::optional<ParameterVersion> Joining::base() const {
    if (fetcher_) {
        return fetcher_->plan().version;
    }
    return !context_.version && busy_ ? builds_ : context_.version;
}

Joining::Followed* Joining::followed(ParameterVersion version, swarm::Epoch epoch) {
    const std::optional<ParameterVersion> from = base();
    if (!from || version < *from || version.gen != from->gen ||
        version.step - from->step >= followed_max()) {
        return nullptr;
    }
    const bool changes_state = !context_.replica || context_.is_exchange(version);
    for (Followed& step : followed_) {
        if (step.version == version) {
            if (step.epoch < epoch) {  // the older epoch was aborted
                step = Followed{version, epoch, changes_state};
            }
            return &step;
        }
    }
    followed_.push_back({version, epoch, changes_state});
    return &followed_.back();
}

// Local steps of mode sparse take no memory here, so only the number of exchanges is bounded.
std::uint64_t Joining::followed_max() const {
    const std::uint64_t round =
        context_.replica ? swarm::run::steps_between_syncs(context_.config) + std::uint64_t{1} : 1;
    return kFollowedMax * round;
}

void Joining::follow(const protocol::Reduce& reduce) {
    Followed* const step = followed(reduce.version, reduce.epoch);
    if (step && step->epoch == reduce.epoch) {
        step->members = static_cast<std::uint32_t>(reduce.group.size());
        step->parts = step->members > 0 ? context_.slices(step->members).count() : 0;
        if (context_.replica) {
            step->shares = reduce.shares;
            step->parts = static_cast<std::uint32_t>(reduce.shares.size());
        }
    }
}

void Joining::follow(
    PeerId from, const protocol::Part& part, node::Payload values, node::Turn turn
) {
    const auto* const sender = context_.roster.find_peer(from);
    if (!part.gathered || !sender || sender->stage != context_.stage() ||
        values.bytes().size() > context_.slice_bytes_max) {
        return;
    }
    if (context_.replica && (!context_.is_exchange(part.version) ||
                             values.bytes().size() != context_.replica->share_bytes())) {
        return;
    }
    // Slices belong to members in the order of their slots. The slices of newcomers, which this
    // peer's roster may lack, are the last.
    const std::size_t members = context_.roster.members(context_.stage()).size();
    const std::uint32_t parts = members > 0 ? context_.slices(members).count() : 0;
    Followed* const step = followed(part.version, part.epoch);
    if (step && step->epoch == part.epoch && part.slice < std::max(step->parts, parts)) {
        step->slices.try_emplace(part.slice, std::move(values));
    }
    replay_followed(turn);
}

void Joining::follow(const protocol::Commit& commit, node::Turn turn) {
    std::vector<PeerId> donors;
    for (const protocol::SnapshotOrder& order : commit.snapshots) {
        const auto* const donor = context_.roster.find(order.donor);
        if (order.receiver == context_.self && donor && context_.worker) {
            donors.push_back(donor->peer);
        }
    }
    if (!donors.empty()) {
        followed_.clear();
        ask_at_ = turn.now + kAskAgainAfter;
        const ParameterVersion made{commit.version.gen, commit.version.step + 1};
        start_download(made, std::move(donors), turn);
        return;
    }
    const std::optional<ParameterVersion> from = base();
    if (!from || commit.version < *from) {
        return;  // the peer waits for a later snapshot, or has applied this commit
    }
    if (Followed* const step = followed(commit.version, commit.epoch)) {
        step->commit = commit;
        replay_followed(turn);
    } else {
        turn.out.log(Level::Warning, "too far behind the run: asking for a newer snapshot");
        fetcher_.reset();
        followed_.clear();
        context_.version.reset();
        changed_ = true;
        greet(turn);
    }
}

void Joining::replay_followed(node::Turn turn) {
    if (busy_ || fetcher_ || !context_.version || context_.slot) {
        return;
    }
    for (auto step = followed_.begin(); step != followed_.end(); ++step) {
        if (step->version == *context_.version && step->complete()) {
            std::iter_swap(followed_.begin(), step);
            replay_front(turn);
            return;
        }
    }
}

std::vector<SparseShare> Joining::shares_in(const Followed& step) {
    std::vector<SparseShare> shares;
    for (const auto& [slice, share] : step.slices) {
        if (slice >= step.shares.size()) {
            break;  // the list names no such share; the hash will not fit if one is missing
        }
        shares.push_back(
            {{share.bytes().begin(), share.bytes().end()}, step.shares[slice].microbatches}
        );
    }
    return shares;
}

std::optional<swarm::Digest> Joining::replay(
    const Followed& step, StageWorker& worker, SparseReplica* replica, const Slices& slices
) {
    const protocol::Commit& commit = *step.commit;
    const auto& hashes = commit.result_hashes;
    const std::uint32_t stage = worker.layout().stage.value;
    if (commit.skips() || !step.changes_state) {
        const swarm::Digest hash = worker.apply({.clip_factor = 0}, step.version.step);
        return replica ? SparseReplica::hash_of(replica->shared()) : hash;
    }
    if (stage >= hashes.size()) {
        return std::nullopt;
    }
    if (replica) {
        const auto proposed = replica->propose(shares_in(step));
        if (!proposed || SparseReplica::hash_of(*proposed) != hashes[stage]) {
            return std::nullopt;
        }
        worker.apply({.clip_factor = 0}, step.version.step);
        worker.use_weights(**proposed);
        replica->begin_round_anew(*proposed, 1);
        return hashes[stage];
    }
    worker.begin_observed_result(slices);
    for (const auto& [slice, values] : step.slices) {
        if (slice >= slices.count() || !worker.store_gathered(slice, values)) {
            return std::nullopt;
        }
    }
    if (worker.summarise_result().hash != hashes[stage]) {
        return std::nullopt;
    }
    return worker.apply(commit.scalars, step.version.step);
}

void Joining::replay_front(node::Turn turn) {
    busy_ = true;
    auto step = std::make_shared<Followed>(std::move(followed_.front()));
    followed_.pop_front();
    const ParameterVersion made{step->version.gen, step->version.step + 1};
    using Replayed = std::optional<swarm::Digest>;
    context_.device.submit_for<Replayed>(
        turn,
        0,
        [worker = context_.worker,
         replica = context_.replica,
         step,
         slices = context_.slices(std::max(step->members, 1U))](Replayed& hash) {
            hash = replay(*step, *worker, replica.get(), slices);
        },
        [this, made, assignment = context_.assignment](Replayed& hash, node::Turn later) {
            if (assignment != context_.assignment) {
                return;
            }
            busy_ = false;
            if (hash) {
                have_state(made, *hash, later);
            } else {
                context_.version.reset();
                changed_ = true;
                greet(later);
            }
        }
    );
}

}  // namespace stages
