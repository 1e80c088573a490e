#include "stages/server/joining.hpp"

#include "swarm/base/peer_name.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace stages {

using Level = node::LogLine::Level;

namespace {

/// Makes the replica of a worker. The replica keeps the worker alive, because it uses its layout.
std::shared_ptr<SparseReplica> make_replica(std::shared_ptr<StageWorker> worker) {
    struct Both {
        std::shared_ptr<StageWorker> worker;
        SparseReplica replica;
    };

    const auto& layout = worker->layout();
    auto zeros = std::make_shared<const std::vector<float>>(layout.elements());
    SparseReplica replica(
        layout, *compression::find_codec(compression::CodecId::Sparse), std::move(zeros)
    );
    auto both = std::make_shared<Both>(Both{std::move(worker), std::move(replica)});
    return {both, &both->replica};
}

/// A copy of the weights that the worker has just got: all replicas share them.
SparseReplica::Weights shared_by(const StageWorker& worker) {
    const std::span<const float> weights = worker.state().weights();
    return std::make_shared<const std::vector<float>>(weights.begin(), weights.end());
}

/// Number of exchanges between two versions; 0 where the run went back to a checkpoint.
std::uint64_t exchanges_between(
    const swarm::run::RunConfig& config, ParameterVersion from, ParameterVersion to
) {
    const std::uint64_t then = swarm::run::exchanges_before(config, from.step);
    const std::uint64_t now = swarm::run::exchanges_before(config, to.step);
    return now > then ? now - then : 0;
}

}  // namespace

std::optional<Joining::Unsent> Joining::take_unsent(node::Turn turn) {
    if (!unsent_ || !context_.replica) {
        return std::nullopt;
    }
    const CachedState kept = *std::exchange(unsent_, std::nullopt);
    const bool of_this_stage = kept.coordinator == context_.coordinator &&
                               kept.run_file == run_file_ && kept.stage == context_.stage();
    auto values = of_this_stage ? to_values(kept, context_.layout.elements()) : std::nullopt;
    if (!values) {
        turn.out.log(Level::Info, "what was kept as not sent is of another stage or run: not used");
        return std::nullopt;
    }
    turn.out.log(
        Level::Info,
        "goes on from what it had not sent at version " + std::to_string(kept.version.step)
    );
    return Unsent{kept.version, std::move(*values)};
}

void Joining::greet(node::Turn turn) {
    ask_at_ = turn.now + kAskAgainAfter;
    if (cached_) {
        start_from_cache(turn);
    }
    if (context_.slot || busy_ || fetcher_ || context_.applying) {
        return;  // while a commit is applied, JOIN would name a version that is out of date
    }
    protocol::Join join;
    join.address = address_;
    join.lent_memory_bytes = context_.usable_memory_bytes();
    if (context_.version) {
        join.stage = context_.stage();
        join.version = *context_.version;
        join.state_hash = context_.state_hash;
        join.compute_class = context_.worker->compute_class();
    }
    context_.tell_coordinator(std::move(join), turn);
}

void Joining::on(const protocol::Standby& standby, node::Turn turn) {
    unreached_ = standby.unreached;
    ask_at_ = turn.now + kAskAgainAfter;
}

void Joining::on(const protocol::Assign& assign, node::Turn turn) {
    unreached_.reset();
    swarm::Result<swarm::run::RunConfig> config =
        swarm::run::parse_run(assign.run_file, "run file of the coordinator");
    if (!config) {
        fatal_ = config.error().detail;
        return;
    }
    if (assign.stage.value >= config->stages) {
        fatal_ = "the coordinator assigned a stage that its run does not have";
        return;
    }
    fetcher_.reset();
    followed_.clear();
    busy_ = false;
    ++context_.assignment;
    if (!context_.worker || context_.stage() != assign.stage || run_file_ != assign.run_file) {
        build(assign, std::move(*config), turn);
        if (fatal_) {
            return;
        }
    }
    context_.version.reset();
    changed_ = true;
    if (assign.from_seed) {
        start_from_seed(turn);
    } else if (assign.from_coordinator) {
        start_download(assign.version, {context_.coordinator}, turn);
    } else {
        ask_at_ = turn.now + kSnapshotWithin;
    }
}

swarm::Result<> Joining::check_memory(
    const swarm::run::RunConfig& config, const swarm::run::StageLayout& layout
) const {
    using swarm::run::MemoryPlan;
    SWARM_TRY(MemoryPlan(context_.lent_memory_bytes, config, layout).check());
    if (!MemoryPlan(context_.machine_bytes, config, layout).check()) {
        return swarm::Error{
            swarm::ErrorCode::Mismatch,
            swarm::Reaction::Reject,
            swarm::run::too_large_for_machine(
                "stage " + std::to_string(layout.stage.value),
                MemoryPlan(0, config, layout).needed_bytes(1),
                context_.machine_bytes
            )};
    }
    return {};
}

void Joining::build(const protocol::Assign& assign, swarm::run::RunConfig config, node::Turn turn) {
    const std::vector<swarm::run::StageLayout> layouts = swarm::run::partition(config);
    if (const auto fits = check_memory(config, layouts[assign.stage.value]); fits.has_error()) {
        fatal_ = fits.error().detail;
        return;
    }
    run_file_ = assign.run_file;
    context_.layout = layouts[assign.stage.value];
    const std::size_t next = assign.stage.value + std::size_t{1};
    context_.next_offer_units =
        next < layouts.size() ? swarm::run::offer_units(config, layouts[next]) : 0;
    context_.tied.reset();
    if (const auto tied = swarm::run::tied_stage(config, assign.stage)) {
        context_.tied = {*tied, layouts[tied->value].elements()};
    }
    context_.config = std::move(config);
    context_.memory =
        swarm::run::MemoryPlan(context_.lent_memory_bytes, context_.config, context_.layout);
    swarm::Result<std::unique_ptr<StageCompute>> compute =
        make_compute_(context_.config, context_.layout);
    if (!compute) {
        fatal_ = compute.error().detail;
        return;
    }
    context_.worker =
        std::make_shared<StageWorker>(context_.config, context_.layout, std::move(*compute));
    context_.replica = context_.config.mode == swarm::run::SyncMode::Sparse
                           ? make_replica(context_.worker)
                           : nullptr;
    if (const auto room = context_.memory.graph_room_bytes(0)) {
        context_.worker->set_graph_room(*room);
    }
    turn.out.log(
        Level::Info,
        "serving stage " + std::to_string(assign.stage.value) + ": layers " +
            std::to_string(context_.layout.first_layer) + " to " +
            std::to_string(context_.layout.first_layer + context_.layout.layers - 1)
    );
}

void Joining::start_from_seed(node::Turn turn) {
    busy_ = true;
    builds_ = {0, 0};
    context_.device.submit_for<swarm::Digest>(
        turn,
        0,
        [worker = context_.worker, replica = context_.replica](swarm::Digest& hash) {
            hash = worker->start_from_seed();
            if (replica) {  // before the run's first step there is nothing to send
                replica->start_anew(shared_by(*worker));
                hash = SparseReplica::hash_of(replica->shared());
            }
        },
        [this, assignment = context_.assignment](swarm::Digest& hash, node::Turn later) {
            if (assignment == context_.assignment) {
                have_state({0, 0}, hash, later);
            }
        }
    );
}

void Joining::start_download(
    ParameterVersion version, std::vector<PeerId> donors, node::Turn turn
) {
    const std::uint64_t bytes = context_.layout.state_bytes();
    fetcher_.emplace(
        swarm::run::StateFetcher::Plan{
            version, context_.stage(), bytes, std::nullopt, context_.layout.chunk_bytes_max},
        std::move(donors)
    );
    download_began_ = turn.now;
    fetcher_->advance(turn);
}

void Joining::on(
    PeerId from, const protocol::Chunk& chunk, node::Payload payload, node::Turn turn
) {
    if (fetcher_) {
        downloaded_bytes_ += payload.bytes().size();
        fetcher_->on(from, chunk, std::move(payload), turn);
        finish_download(turn);
    }
}

void Joining::on(PeerId from, const protocol::ChunkRefused& refused, node::Turn turn) {
    if (fetcher_) {
        fetcher_->on(from, refused, turn);
        finish_download(turn);
    }
}

void Joining::follow_roster(node::Turn turn) {
    const std::vector<PeerId> donors = fetcher_ ? fetcher_->donors() : std::vector<PeerId>{};
    for (const PeerId donor : donors) {
        if (donor != context_.coordinator && context_.roster.find_peer(donor) == nullptr) {
            peer_lost(donor, turn);
        }
    }
}

void Joining::link_up(PeerId peer, node::Turn turn) {
    if (fetcher_) {
        fetcher_->link_up(peer, turn);
    }
}

void Joining::link_down(PeerId peer, node::Turn turn) {
    if (fetcher_) {
        fetcher_->link_down(peer, turn);
        finish_download(turn);
    }
}

void Joining::peer_lost(PeerId peer, node::Turn turn) {
    if (fetcher_) {  // the loss of the last donor may have ended the download in this turn
        fetcher_->donor_lost(peer, turn);
        finish_download(turn);
    }
}

void Joining::finish_download(node::Turn turn) {
    using Outcome = swarm::run::StateFetcher::Outcome;
    if (fetcher_->outcome() == Outcome::Failed) {
        turn.out.log(Level::Warning, "the download of the state failed: asking for another donor");
        fetcher_.reset();
        followed_.clear();
        greet(turn);
        return;
    }
    if (fetcher_->outcome() == Outcome::Open) {
        return;
    }
    const ParameterVersion version = fetcher_->plan().version;
    const double took = std::chrono::duration<double>(turn.now - download_began_).count();
    char text[128];
    std::snprintf(
        text,
        sizeof text,
        "the state is here: %u MiB in %.1f s, from %zu peers",
        fetcher_->plan().chunks(),
        took,
        fetcher_->donors().size()
    );
    turn.out.log(Level::Info, text);
    auto chunks = std::make_shared<const std::vector<node::Payload>>(fetcher_->take_chunks());
    fetcher_.reset();
    start_from_chunks(version, std::move(chunks), turn);
}

void Joining::start_from_cache(node::Turn turn) {
    auto cached = *std::exchange(cached_, std::nullopt);
    auto config = swarm::run::parse_run(cached.run_file, "run file of the cache");
    if (cached.coordinator != context_.coordinator || !config ||
        cached.stage.value >= config->stages) {
        turn.out.log(Level::Info, "the cached state is of another run: not used");
        return;
    }
    build({cached.stage, cached.run_file, cached.version, false}, std::move(*config), turn);
    if (!fatal_) {
        changed_ = true;  // this peer has a stage
        start_from_chunks(
            cached.version,
            std::make_shared<const std::vector<node::Payload>>(std::move(cached.chunks)),
            turn
        );
    }
}

void Joining::start_from_chunks(
    ParameterVersion version,
    std::shared_ptr<const std::vector<node::Payload>> chunks,
    node::Turn turn
) {
    busy_ = true;
    builds_ = version;
    using Started = std::optional<swarm::Digest>;
    context_.device.submit_for<Started>(
        turn,
        0,
        [worker = context_.worker,
         replica = context_.replica,
         config = context_.config,
         chunks = std::move(chunks),
         unsent = take_unsent(turn),
         version](Started& hash) {
            auto state = StageState::from_chunks(worker->layout(), version, *chunks);
            if (state) {
                const ParameterVersion had = unsent ? unsent->version : worker->state().version();
                hash = worker->start_from(std::move(*state));
                if (replica) {
                    if (unsent) {
                        replica->resume(replica->shared(), unsent->values);
                    }
                    const std::uint64_t missed = exchanges_between(config, had, version);
                    replica->begin_round_anew(shared_by(*worker), missed);
                    hash = SparseReplica::hash_of(replica->shared());
                }
                worker->warm_up();  // the other replicas are warm; at step 0 all are cold
            }
        },
        [this, version, assignment = context_.assignment](Started& hash, node::Turn later) {
            if (assignment != context_.assignment) {
                return;
            }
            busy_ = false;
            if (hash) {
                have_state(version, *hash, later);
            } else {
                greet(later);
            }
        }
    );
}

void Joining::have_state(ParameterVersion version, swarm::Digest hash, node::Turn turn) {
    busy_ = false;
    changed_ = true;
    context_.version = version;
    context_.state_hash = hash;
    std::erase_if(followed_, [&](const Followed& step) { return step.version < version; });
    replay_followed(turn);
    if (!busy_) {
        greet(turn);
    }
}

void Joining::wake(node::Turn turn) {
    if (fetcher_ && fetcher_->next_deadline() <= turn.now) {
        fetcher_->advance(turn);
        finish_download(turn);
    }
    if (ask_at_ <= turn.now) {
        greet(turn);  // this asks again when the snapshot never came
    }
}

TimePoint Joining::next_deadline() const {
    const TimePoint ask = context_.slot ? swarm::kNever : ask_at_;
    return fetcher_ ? std::min(ask, fetcher_->next_deadline()) : ask;
}

std::string Joining::download_status(TimePoint now) const {
    const std::uint32_t received = fetcher_->received();
    const std::uint32_t all = fetcher_->plan().chunks();
    std::string text = "downloading the state: " + std::to_string(received) + " of " +
                       std::to_string(all) + " MiB";
    if (received > 0) {
        const swarm::Duration left = (now - download_began_) / received * (all - received);
        text += ", " + std::to_string(std::chrono::ceil<std::chrono::seconds>(left).count()) +
                " s left";
    }
    return text;
}

std::string Joining::status(TimePoint now) const {
    if (unreached_) {
        return "waits without a stage: it and peer " + swarm::to_short_text(*unreached_) +
               " cannot reach each other, and every stage would make them neighbours";
    }
    if (fetcher_) {
        return download_status(now);
    }
    if (!context_.worker) {
        return "waiting for a stage";
    }
    if (context_.version) {
        return "following the run";
    }
    return busy_ ? "building its state" : "waiting for a snapshot";
}

}  // namespace stages
