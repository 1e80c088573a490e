#include "stages/single/sparse_run.hpp"

#include "swarm/base/check.hpp"
#include "swarm/base/rng.hpp"
#include "swarm/base/try.hpp"
#include "swarm/run/step_scalars.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace stages {

using swarm::Error;

namespace {

/// The seed for codecs that draw random numbers; `sparse` draws none.
std::uint64_t share_seed(
    std::uint64_t run_seed, std::uint64_t step, std::uint32_t stage, std::uint64_t replica
) {
    std::uint64_t seed = swarm::mix_bits(run_seed + 1);
    for (const std::uint64_t part : {step, std::uint64_t{stage}, replica}) {
        seed = swarm::mix_bits(seed + part + 1);
    }
    return seed;
}

SparseReplica::Weights copy_of(std::span<const float> weights) {
    return std::make_shared<const std::vector<float>>(weights.begin(), weights.end());
}

}  // namespace

SparseRun::SparseRun(
    swarm::run::RunConfig config,
    const MakeCompute& make_compute,
    swarm::run::Corpus corpus,
    const swarm::run::SampleRows* rows
)
    : config_(std::move(config)),
      corpus_(std::move(corpus)),
      plan_(config_, corpus_, rows),
      codec_(compression::find_codec(compression::CodecId::Sparse)) {
    SWARM_ASSERT(config_.mode == swarm::run::SyncMode::Sparse && codec_ != nullptr);
    for (const swarm::run::StageLayout& layout : swarm::run::partition(config_)) {
        Stage& stage = stages_.emplace_back();
        stage.layout = layout;
        SparseReplica::Weights shared;
        for (std::uint32_t r = 0; r < swarm::run::replicas_alone(config_); ++r) {
            auto worker =
                std::make_unique<StageWorker>(config_, layout, make_compute(config_, layout));
            worker->start_from_seed();
            shared = shared ? shared : copy_of(worker->state().weights());
            SparseReplica sparse(worker->layout(), *codec_, shared);
            stage.replicas.push_back({std::move(worker), std::move(sparse)});
        }
    }
}

void SparseRun::resume(
    std::vector<StageState> states, std::vector<std::vector<ReplicaState>> kept
) {
    SWARM_ASSERT(states.size() == stages_.size() && kept.size() == stages_.size());
    for (std::size_t s = 0; s < states.size(); ++s) {
        SWARM_ASSERT(states[s].version() == states[0].version());
        Stage& stage = stages_[s];
        const SparseReplica::Weights shared = copy_of(states[s].weights());
        for (std::size_t r = 0; r < stage.replicas.size(); ++r) {
            Replica& replica = stage.replicas[r];
            if (r >= kept[s].size()) {
                replica.worker->start_from(states[s]);
                replica.sparse.start_anew(shared);
                continue;
            }
            ReplicaState& own = kept[s][r];
            replica.worker->start_from(StageState::from_tensors(
                stage.layout,
                states[s].version(),
                *shared,
                std::move(own.first_moments),
                std::move(own.second_moments)
            ));
            replica.sparse.resume(shared, std::move(own.error));
        }
    }
}

Result<StepRecord> SparseRun::step() {
    const std::uint64_t step = version().step;
    const Result<double> loss = run_microbatches(step);
    if (loss.has_error() && loss.error().code != swarm::ErrorCode::NotFinite) {
        return loss.error();
    }
    StepRecord record = loss ? take_local_steps(step, *loss) : skip(step, loss.error().detail);
    if (swarm::run::is_sync_step(config_, step)) {
        SWARM_TRY(synchronise(step));
    }
    return record;
}

Result<double> SparseRun::run_microbatches(std::uint64_t step) {
    double loss_sum = 0;
    for (std::uint32_t m = 0; m < config_.microbatches; ++m) {
        std::vector<StageWorker*> path;
        for (std::size_t s = 0; s < stages_.size(); ++s) {
            Replica& replica = stages_[s].replicas[(m + s * step) % replicas()];
            path.push_back(replica.worker.get());
            ++replica.held;
        }
        const auto loss = run_microbatch(
            path,
            swarm::StageMask::first(config_.stages),
            {step, {{m}, swarm::make_epoch(1, 1)}, plan_.tokens(step, {m}), {}}
        );
        if (loss.has_error()) {
            const std::string which = "microbatch " + std::to_string(m) + ": ";
            return Error{loss.error().code, loss.error().reaction, which + loss.error().detail};
        }
        loss_sum += *loss;
    }
    return loss_sum / static_cast<double>(config_.microbatches);
}

StepRecord SparseRun::take_local_steps(std::uint64_t step, double loss) {
    StepRecord record;
    record.step = step;
    record.loss = loss;
    record.counted_once = config_.microbatches;
    std::vector<double> squares;  // mean over the microbatches per tensor, in global order
    for (Stage& stage : stages_) {
        std::uint32_t counted = 0;
        const std::size_t first = squares.size();
        squares.resize(first + stage.layout.tensors.size());
        for (Replica& replica : stage.replicas) {
            replica.worker->finish_alone();
            const StageWorker::ResultSummary summary = replica.worker->summarise_result();
            swarm::run::add_local_squares(
                config_, summary.sums_of_squares, replica.held, std::span(squares).subspan(first)
            );
            counted += summary.counted_once;
            record.counted_wrong = std::max(record.counted_wrong, summary.counted_wrong);
            record.result_hashes.push_back(summary.hash);
        }
        record.counted_once = std::min(record.counted_once, counted);
    }
    record.gradient_norm = swarm::run::gradient_norm(squares);
    const auto scalars = swarm::run::step_scalars(config_, step, squares);
    for (Stage& stage : stages_) {
        for (Replica& replica : stage.replicas) {
            replica.worker->apply(swarm::run::local_scalars(config_, scalars, replica.held), step);
            replica.sparse.trained_on(std::exchange(replica.held, 0));
        }
    }
    skips_in_a_row_ = 0;
    return record;
}

StepRecord SparseRun::skip(std::uint64_t step, std::string reason) {
    ++skips_in_a_row_;
    for (Stage& stage : stages_) {
        for (Replica& replica : stage.replicas) {
            replica.worker->drop_all_graphs();
            replica.worker->apply({.clip_factor = 0}, step);
            replica.held = 0;
        }
    }
    StepRecord record;
    record.step = step;
    record.skipped = std::move(reason);
    return record;
}

Result<> SparseRun::synchronise(std::uint64_t step) {
    for (Stage& stage : stages_) {
        std::vector<SparseShare> shares;
        for (std::size_t r = 0; r < stage.replicas.size(); ++r) {
            Replica& replica = stage.replicas[r];
            if (replica.sparse.trained() == 0) {
                continue;  // every step since the last exchange was skipped
            }
            SWARM_TRY(
                auto share,
                replica.sparse.share(
                    replica.worker->state().weights(),
                    share_seed(config_.seed, step, stage.layout.stage.value, r)
                )
            );
            shares.push_back(std::move(share));
        }
        if (shares.empty()) {
            continue;
        }
        SWARM_TRY(const auto shared, stage.replicas[0].sparse.propose(shares));
        for (Replica& replica : stage.replicas) {
            replica.sparse.adopt(shared);
            replica.worker->use_weights(*shared);
        }
    }
    return {};
}

std::uint64_t SparseRun::replace(std::uint32_t stage, std::uint32_t replica) {
    SWARM_ASSERT(replicas() > 1);
    Stage& of = stages_[stage];
    Replica& gone = of.replicas[replica];
    const StageState& donor = state(stage, (replica + 1) % replicas());
    const auto copy = [](std::span<const float> values) {
        return std::vector<float>(values.begin(), values.end());
    };
    gone.worker->start_from(StageState::from_tensors(
        of.layout,
        donor.version(),
        *of.shared(),
        copy(donor.first_moments()),
        copy(donor.second_moments())
    ));
    return gone.sparse.start_anew(of.shared());
}

swarm::Digest SparseRun::weights_sha256() const {
    std::vector<std::span<const float>> weights;
    for (const Stage& stage : stages_) {
        weights.emplace_back(*stage.shared());
    }
    return weights_hash(weights);
}

std::uint64_t SparseRun::share_bytes() const {
    std::uint64_t bytes = 0;
    for (const Stage& stage : stages_) {
        bytes += stages::share_bytes(stage.layout, *codec_);
    }
    return bytes;
}

}  // namespace stages
