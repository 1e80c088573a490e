#include "swarm/coordinator/checkpointer.hpp"

#include "swarm/base/digest.hpp"
#include "swarm/run/versions.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace swarm::coordinator {

namespace {

/// Adds bytes [begin, end) of a state to the hash; the state lies in chunks.
void add_range(
    std::span<const node::Payload> chunks, std::uint64_t begin, std::uint64_t end, Sha256& hash
) {
    std::uint64_t at = 0;
    for (const node::Payload& chunk : chunks) {
        const auto bytes = chunk.bytes();
        const std::uint64_t first = std::max(begin, at);
        const std::uint64_t last = std::min<std::uint64_t>(end, at + bytes.size());
        if (first < last) {
            hash.add(bytes.subspan(first - at, last - first));
        }
        at += bytes.size();
    }
}

}  // namespace

Digest hash_of_weights(const run::StageLayout& layout, std::span<const node::Payload> chunks) {
    Sha256 hash;
    std::uint64_t begin = 0;
    for (const run::TensorSpec& tensor : layout.tensors) {
        const std::uint64_t bytes = sizeof(float) * tensor.elements();
        add_range(chunks, begin, begin + bytes, hash);
        begin += 3 * bytes;  // the two moments of the tensor follow
    }
    return hash.finish();
}

std::vector<SlotId> snapshot_donors(const run::Roster& roster, StageIndex stage) {
    const std::vector<SlotId> members = roster.members(stage);
    std::vector<SlotId> stay;
    for (const SlotId slot : members) {
        if (roster.find(slot)->standing == protocol::Standing::Member) {
            stay.push_back(slot);
        }
    }
    return stay.empty() ? members : stay;
}

SlotId Checkpointer::choose_donor(const RunContext& context, std::span<const SlotId> able) {
    // The last one, because joiners get their snapshots from the first ones.
    for (auto slot = able.rbegin(); slot != able.rend(); ++slot) {
        const bool failed = failed_donors_.contains(context.roster.find(*slot)->peer);
        if (!failed || context.bugs.failed_donor_again) {
            return *slot;
        }
    }
    for (const SlotId slot : able) {  // all have failed, so they are asked in turn again
        failed_donors_.erase(context.roster.find(slot)->peer);
    }
    return able.back();
}

std::vector<protocol::SnapshotOrder> Checkpointer::order(
    const RunContext& context, ParameterVersion version
) {
    std::vector<protocol::SnapshotOrder> orders;
    if (under_way()) {
        return orders;
    }
    failed_ = false;  // it was about the checkpoint before
    std::erase_if(failed_donors_, [&](PeerId donor) {
        return context.roster.find_peer(donor) == nullptr;
    });
    version_ = version;
    for (std::uint32_t stage = 0; stage < context.config.stages; ++stage) {
        const std::vector<SlotId> able = snapshot_donors(context.roster, {stage});
        if (able.empty()) {
            donors_.clear();
            return {};
        }
        const protocol::SlotInfo& donor = *context.roster.find(choose_donor(context, able));
        donors_.push_back(donor.peer);
        orders.push_back({donor.slot, PeerId{}});
    }
    return orders;
}

void Checkpointer::begin(const RunContext& context, const KnownOf& known_of, node::Turn turn) {
    const bool sparse = context.config.mode == run::SyncMode::Sparse;
    shared_layouts_ = sparse ? context.layouts : std::vector<run::StageLayout>{};
    step_ = run::steps_before(context.config, version_.step);
    if (!donors_.empty()) {
        asked_.clear();
    }
    for (std::uint32_t stage = 0; stage < donors_.size(); ++stage) {
        const run::StageLayout& layout = context.layouts[stage];
        const run::StateFetcher::Plan plan{
            version_,
            {stage},
            layout.state_bytes(),
            std::nullopt,
            layout.chunk_bytes_max,
            known_of({stage})};
        asked_.push_back(donors_[stage]);
        fetchers_.emplace_back(plan, std::vector<PeerId>{donors_[stage]});
        fetchers_.back().advance(turn);
    }
    donors_.clear();
}

void Checkpointer::on(
    PeerId from, const protocol::Chunk& chunk, node::Payload payload, node::Turn turn
) {
    if (chunk.stage.value < fetchers_.size()) {
        fetchers_[chunk.stage.value].on(from, chunk, std::move(payload), turn);
    }
    check(turn);
}

void Checkpointer::on(PeerId from, const protocol::ChunkRefused& refused, node::Turn turn) {
    if (refused.stage.value < fetchers_.size()) {
        fetchers_[refused.stage.value].on(from, refused, turn);
    }
    check(turn);
}

void Checkpointer::donor_lost(PeerId donor, node::Turn turn) {
    for (run::StateFetcher& fetcher : fetchers_) {
        fetcher.donor_lost(donor, turn);
    }
    check(turn);
}

void Checkpointer::wake(node::Turn turn) {
    for (run::StateFetcher& fetcher : fetchers_) {
        fetcher.advance(turn);
    }
    check(turn);
}

TimePoint Checkpointer::next_deadline() const {
    TimePoint due = kNever;
    for (const run::StateFetcher& fetcher : fetchers_) {
        due = std::min(due, fetcher.next_deadline());
    }
    return due;
}

void Checkpointer::check(node::Turn turn) {
    bool lost = false;
    for (std::size_t stage = 0; stage < fetchers_.size(); ++stage) {
        if (fetchers_[stage].outcome() == run::StateFetcher::Outcome::Failed) {
            lost = true;
            failed_donors_.insert(asked_[stage]);
        }
    }
    if (lost) {
        turn.out.log(
            node::LogLine::Level::Warning,
            "no checkpoint of step " + std::to_string(version_.step) +
                ": a peer that was to give its stage's state is gone or late, or refused; "
                "another one is asked next"
        );
        failed_ = true;
        fetchers_.clear();
    }
}

std::optional<run::CheckpointFiles> Checkpointer::take_files(
    const RunHistory& history, node::Turn turn
) {
    const bool complete =
        !fetchers_.empty() &&
        std::all_of(fetchers_.begin(), fetchers_.end(), [](const run::StateFetcher& fetcher) {
            return fetcher.outcome() == run::StateFetcher::Outcome::Complete;
        });
    if (!complete) {
        return std::nullopt;
    }
    run::RunState state{{version_.gen, step_}, {}};
    bool genuine = true;
    for (run::StateFetcher& fetcher : fetchers_) {
        const StageIndex stage = fetcher.plan().stage;
        const auto known = history.states.find({version_, stage});
        const Digest manifest = fetcher.state_hash();
        state.chunks.push_back(fetcher.take_chunks());
        const Digest found =
            shared_layouts_.empty()
                ? manifest
                : hash_of_weights(shared_layouts_[stage.value], state.chunks.back());
        if (known != history.states.end() && known->second != found) {
            genuine = false;
            failed_donors_.insert(asked_[stage.value]);
        }
    }
    fetchers_.clear();
    if (!genuine) {
        turn.out.log(
            node::LogLine::Level::Error, "no checkpoint: a donor's state is not the run's"
        );
        failed_ = true;
        return std::nullopt;
    }
    Result<run::CheckpointFiles> files = format_->make_files(std::move(state));
    if (!files) {
        turn.out.log(node::LogLine::Level::Error, "no checkpoint: " + files.error().detail);
        failed_ = true;
        return std::nullopt;
    }
    return std::move(*files);
}

}  // namespace swarm::coordinator
