#include "tests/bench/quality_run.hpp"

#include "compression/codec.hpp"
#include "swarm/base/check.hpp"
#include "swarm/run/leg_codecs.hpp"
#include "swarm/run/partition.hpp"
#include "tests/bench/cpu_time.hpp"

#include <algorithm>
#include <utility>

namespace swarm::bench {
namespace {

constexpr std::uint64_t kTrials = 30;
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

}  // namespace

run::RunConfig config_of_row(const std::string& row, std::uint64_t steps, std::uint64_t seed) {
    run::RunConfig config;
    config.name = "quality";
    config.steps = steps;
    config.seed = seed;
    config.codec = row;
    return config;
}

LegBytes leg_bytes(const run::RunConfig& config) {
    const auto pair = run::parse_codec_pair(config.codec);
    SWARM_ASSERT(pair.has_value());
    const std::uint64_t values =
        std::uint64_t{config.batch} * config.model.context * config.model.width;
    const auto bytes_of = [&](protocol::CodecId codec) {
        return compression::find_codec(codec)->encoded_bytes(values);
    };
    return {bytes_of(pair->forward), bytes_of(pair->backward)};
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
        SWARM_ASSERT(made.has_value());  // as the whole one could be made
        return std::move(*made);
    };
    std::unique_ptr<QualityRun> run(new QualityRun(config, make, std::move(*compute), text));
    if (const Result<> tried = run->try_weights(); !tried) {
        return tried.error();
    }
    return run;
}

QualityRun::QualityRun(
    const run::RunConfig& config,
    const stages::MakeCompute& make,
    std::unique_ptr<stages::StageCompute> whole,
    const QualityText& text
)
    : run_(config, make, text.training),
      whole_(std::move(whole)),
      trial_(trial_config(config), text.held_out) {
    for (std::uint32_t stage = 0; stage < run_.stages(); ++stage) {
        weights_.resize(weights_.size() + run_.state(stage).weights().size());
    }
    gradient_.resize(weights_.size());
}

Result<> QualityRun::step() {
    const double began = cpu_seconds();
    const Result<stages::StepRecord> record = run_.step();
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
    return trial_is_due() ? try_weights() : Result<>();
}

bool QualityRun::trial_is_due() const {
    const std::uint64_t steps = run_.config().steps;
    const std::uint64_t every = std::max<std::uint64_t>(1, steps / kTrials);
    const std::uint64_t made = steps_made();
    return made <= steps ? made % every == 0 || made == steps : (made - steps) % every == 0;
}

Result<> QualityRun::try_weights() {
    auto to = weights_.begin();
    for (std::uint32_t stage = 0; stage < run_.stages(); ++stage) {
        to = std::ranges::copy(run_.state(stage).weights(), to).out;
    }
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
    return {run_.config().seed, training_, held_out_, sorted[sorted.size() / 2]};
}

}  // namespace swarm::bench
