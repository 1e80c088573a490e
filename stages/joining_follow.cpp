// The commits that a newcomer follows as an observer, from its snapshot to its admission.
#include "stages/joining.hpp"

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
        version.step - from->step >= kFollowedMax) {
        return nullptr;
    }
    for (Followed& step : followed_) {
        if (step.version == version) {
            if (step.epoch < epoch) {  // the older epoch is dead
                step = Followed{version, epoch, 0, 0, {}, std::nullopt};
            }
            return &step;
        }
    }
    followed_.push_back({version, epoch, 0, 0, {}, std::nullopt});
    return &followed_.back();
}

void Joining::follow(const protocol::Reduce& reduce) {
    Followed* const step = followed(reduce.version, reduce.epoch);
    if (step && step->epoch == reduce.epoch) {
        step->members = static_cast<std::uint32_t>(reduce.group.size());
        step->parts = step->members > 0 ? context_.slices(step->members).count() : 0;
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
    // Slices go to members in the order of their slots: a newcomer's, which the roster here may
    // lack, are the last.
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
        return;  // it waits for a snapshot that starts later than this, or has it
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
         step,
         stage = context_.stage(),
         slices = context_.slices(std::max(step->members, 1U))](Replayed& hash) {
            const protocol::Commit& commit = *step->commit;
            if (commit.scalars.skips()) {
                hash = worker->apply(commit.scalars, step->version.step);
                return;
            }
            worker->begin_observed_result(slices);
            for (const auto& [slice, values] : step->slices) {
                if (slice >= slices.count() || !worker->store_gathered(slice, values)) {
                    return;
                }
            }
            const auto& hashes = commit.result_hashes;
            if (stage.value < hashes.size() &&
                worker->summarise_result().hash == hashes[stage.value]) {
                hash = worker->apply(commit.scalars, step->version.step);
            }
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
