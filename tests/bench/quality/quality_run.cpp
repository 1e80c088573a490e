#include "tests/bench/quality/quality_run.hpp"

#include "compression/codec.hpp"
#include "stages/worker/sparse_sync.hpp"
#include "swarm/base/check.hpp"
#include "swarm/run/leg_codecs.hpp"
#include "swarm/run/partition.hpp"
#include "tests/bench/cpu_time.hpp"

#include <algorithm>
#include <utility>

namespace swarm::bench {
namespace {

constexpr std::uint32_t kTrialMicrobatches = 8;
constexpr std::uint64_t kTrialSeed = 0;  // runs have others
constexpr std::size_t kHeldOutShare = 10;

run::RunConfig in_one_stage(run::RunConfig config) {
    config.stages = 1;
    config.layers_per_stage.clear();
    return config;
}

run::RunConfig trial_config(run::RunConfig config) {
    config.seed = kTrialSeed;
    return config;
}

std::span<const float> shared_weights(const stages::SingleRun& run, std::uint32_t stage) {
    return run.state(stage).weights();
}

/// REQUIRES: the run is at an exchange, when the weights of any replica are those of all.
std::span<const float> shared_weights(const stages::SparseRun& run, std::uint32_t stage) {
    return run.state(stage, 0).weights();
}

}  // namespace

run::RunConfig config_of_row(const std::string& row, std::uint64_t steps, std::uint64_t seed) {
    run::RunConfig config;
    config.name = "quality";
    config.steps = steps;
    config.seed = seed;
    if (row == kSparseRow) {
        config.mode = run::SyncMode::Sparse;
        config.replicas = kModeReplicas;
    } else if (row != kExactRow) {
        config.codec = run::CodecSetting::find(row).value();
    }
    return config;
}

LegBytes leg_bytes(const run::RunConfig& config) {
    const auto& pair = config.codec.pair();
    SWARM_ASSERT(pair.has_value());
    const std::uint64_t values =
        std::uint64_t{config.batch} * config.model.context * config.model.width;
    const auto bytes_of = [&](protocol::CodecId codec) {
        return compression::find_codec(codec)->encoded_bytes(values);
    };
    return {bytes_of(pair->forward), bytes_of(pair->backward)};
}

Synchronisation synchronisation(const run::RunConfig& config, double line_bytes_per_s) {
    std::uint64_t weights = 0;
    std::uint64_t share_bytes = 0;
    const compression::Codec& codec = *compression::find_codec(compression::CodecId::Sparse);
    for (const run::StageLayout& layout : run::partition(config)) {
        weights = std::max(weights, layout.elements());
        share_bytes = std::max(share_bytes, stages::share_bytes(layout, codec));
    }
    if (config.mode == run::SyncMode::Exact) {
        return {kModeReplicas, {}, exact_sync_bytes(weights, kModeReplicas, line_bytes_per_s)};
    }
    const std::uint32_t sync_every = run::steps_between_syncs(config);
    return {kModeReplicas, sync_every, sparse_sync_bytes(share_bytes, kModeReplicas, sync_every)};
}

Result<QualityText> split_text(run::Corpus corpus, const run::RunConfig& config) {
    const std::size_t held_out = corpus.size() / kHeldOutShare;
    const std::size_t row = std::size_t{config.model.context} + 1;
    if (held_out < row) {
        return Error{
            ErrorCode::Malformed,
            Reaction::Reject,
            "a corpus of " + std::to_string(corpus.size()) +
                " bytes is too short: a tenth of it "
                "is held out, and that must be at least " +
                std::to_string(row)};
    }
    QualityText text;
    text.held_out.assign(corpus.end() - static_cast<std::ptrdiff_t>(held_out), corpus.end());
    corpus.resize(corpus.size() - held_out);
    text.training = std::move(corpus);
    return text;
}

std::uint64_t held_out_tokens(const run::RunConfig& config) {
    return std::uint64_t{kTrialMicrobatches} * config.batch * config.model.context;
}

Result<std::unique_ptr<QualityRun>> QualityRun::start(
    const run::RunConfig& config, const stages::ComputeFactory& factory, const QualityText& text
) {
    const run::RunConfig whole = in_one_stage(config);
    auto compute = factory(whole, run::partition(whole).front());
    if (compute.has_error()) {
        return compute.error();
    }
    const auto make = [&](const run::RunConfig& of, const run::StageLayout& layout) {
        auto made = factory(of, layout);
        SWARM_ASSERT(made.has_value());  // the whole model could be made
        return std::move(*made);
    };
    std::unique_ptr<QualityRun> run(new QualityRun(config, make, std::move(*compute), text));
    if (const Result<> tried = run->try_weights(); !tried) {
        return tried.error();
    }
    return run;
}

QualityRun::Run QualityRun::make_run(
    const run::RunConfig& config, const stages::MakeCompute& make, const run::Corpus& corpus
) {
    if (config.mode == run::SyncMode::Sparse) {
        return Run(std::in_place_type<stages::SparseRun>, config, make, corpus);
    }
    return Run(std::in_place_type<stages::SingleRun>, config, make, corpus);
}

QualityRun::QualityRun(
    const run::RunConfig& config,
    const stages::MakeCompute& make,
    std::unique_ptr<stages::StageCompute> whole,
    const QualityText& text
)
    : run_(make_run(config, make, text.training)),
      whole_(std::move(whole)),
      trial_(trial_config(config), text.held_out) {
    copy_weights();
    gradient_.resize(weights_.size());
}

const run::RunConfig& QualityRun::config() const {
    return std::visit(
        [](const auto& run) -> const auto& { return run.config(); }, run_
    );
}

std::uint64_t QualityRun::steps_made() const {
    return std::visit([](const auto& run) { return run.version().step; }, run_);
}

Result<> QualityRun::step() {
    const double began = cpu_seconds();
    const Result<stages::StepRecord> record =
        std::visit([](auto& run) { return run.step(); }, run_);
    if (!record) {
        return record.error();
    }
    compute_s_.push_back(cpu_seconds() - began);
    if (record->skipped) {
        return Error{
            ErrorCode::NotFinite,
            Reaction::Fatal,
            "step " + std::to_string(record->step) + " was skipped: " + *record->skipped};
    }
    training_.push_back({static_cast<double>(record->step), record->loss});
    return is_tried_after(config(), steps_made()) ? try_weights() : Result<>();
}

void QualityRun::copy_weights() {
    weights_.clear();
    std::visit(
        [&](const auto& run) {
            for (std::uint32_t stage = 0; stage < run.stages(); ++stage) {
                const std::span<const float> weights = shared_weights(run, stage);
                weights_.insert(weights_.end(), weights.begin(), weights.end());
            }
        },
        run_
    );
}

Result<> QualityRun::try_weights() {
    copy_weights();
    whole_->use_weights(weights_);
    double sum = 0;
    for (std::uint32_t m = 0; m < kTrialMicrobatches; ++m) {
        const auto tail = whole_->forward_tail(nullptr, trial_.tokens(0, {m}), gradient_);
        if (tail.has_error()) {
            return tail.error();
        }
        sum += tail->loss;
    }
    held_out_.push_back({static_cast<double>(steps_made()), sum / kTrialMicrobatches});
    return {};
}

SeedRun QualityRun::result() const {
    SWARM_ASSERT(!compute_s_.empty());
    std::vector<double> sorted = compute_s_;
    std::ranges::sort(sorted);
    return {config().seed, training_, held_out_, sorted[sorted.size() / 2]};
}

}  // namespace swarm::bench
