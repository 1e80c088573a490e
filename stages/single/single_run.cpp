#include "stages/single/single_run.hpp"

#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"
#include "swarm/run/step_scalars.hpp"
#include "swarm/run/training/batch_growth.hpp"
#include "swarm/run/training/trained_part.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace stages {
namespace {

void append(std::vector<float>& to, std::span<const float> values) {
    to.insert(to.end(), values.begin(), values.end());
}

std::vector<float> part(std::span<const float> all, std::size_t begin, std::size_t count) {
    const auto values = all.subspan(begin, count);
    return {values.begin(), values.end()};
}

/// Adds the sums of the two uses of a tied matrix. Each use is quantised apart and the sums are
/// integers, so the result does not depend on the split.
std::vector<std::int64_t> tied_sums(const StageWorker& first, const StageWorker& last) {
    const auto embedding = first.sums_of(swarm::run::kEmbeddingTensor);
    const auto head = last.sums_of(swarm::run::kHeadTensor);
    SWARM_ASSERT(embedding.size() == head.size());
    std::vector<std::int64_t> sums(embedding.begin(), embedding.end());
    std::transform(head.begin(), head.end(), sums.begin(), sums.begin(), std::plus<>());
    return sums;
}

}  // namespace

Result<double> run_microbatch(
    std::span<StageWorker* const> path, swarm::StageMask training, StageWorker::Leg leg
) {
    const auto learns_at_or_below = [&](std::uint32_t s) { return training.has_below({s + 1}); };
    const auto take_gradient = [&](std::uint32_t s) {
        if (training.has({s})) {
            path[s]->accumulate(leg.key);
        } else {
            path[s]->discard_pending(leg.key);
        }
    };
    const auto tail = static_cast<std::uint32_t>(path.size() - 1);
    for (std::uint32_t s = 0; s < tail; ++s) {
        SWARM_TRY(
            auto output, path[s]->forward(leg, learns_at_or_below(s) ? Graph::Keep : Graph::Drop)
        );
        leg.input = std::move(output);
    }
    SWARM_TRY(auto outcome, path[tail]->forward_tail(leg));
    take_gradient(tail);
    leg.input = std::move(outcome.gradient_below);
    for (std::uint32_t s = tail; s-- > 0 && learns_at_or_below(s);) {
        SWARM_TRY(auto below, path[s]->backward(leg));
        take_gradient(s);
        leg.input = std::move(below);
    }
    return outcome.loss;
}

SingleRun::SingleRun(
    swarm::run::RunConfig config,
    MakeCompute make_compute,
    swarm::run::Corpus corpus,
    const swarm::run::SampleRows* rows
)
    : config_(std::move(config)),
      make_compute_(std::move(make_compute)),
      corpus_(std::move(corpus)),
      plan_(config_, corpus_, rows),
      codecs_(swarm::run::first_codecs(config_)) {
    make_workers();
    for (const auto& worker : workers_) {
        worker->start_from_seed();
    }
}

void SingleRun::make_workers() {
    workers_.clear();
    for (const swarm::run::StageLayout& layout : swarm::run::partition(config_)) {
        workers_.push_back(
            std::make_unique<StageWorker>(config_, layout, make_compute_(config_, layout))
        );
    }
}

std::vector<std::uint32_t> SingleRun::layers_per_stage() const {
    return swarm::run::layers_of(swarm::run::partition(config_));
}

void SingleRun::cut_as(const std::vector<std::uint32_t>& layers_per_stage) {
    SWARM_ASSERT(layers_per_stage.size() == workers_.size());
    const swarm::ParameterVersion at = version();
    std::vector<float> weights;
    std::vector<float> first_moments;
    std::vector<float> second_moments;
    std::vector<float> frozen;
    for (const auto& worker : workers_) {  // stages lie in global order
        const StageState& state = worker->state();
        append(weights, state.weights());
        append(first_moments, state.first_moments());
        append(second_moments, state.second_moments());
        append(frozen, state.frozen());
    }
    config_.layers_per_stage = layers_per_stage;
    make_workers();
    std::size_t begin = 0;
    std::size_t frozen_begin = 0;
    const auto layouts = swarm::run::partition(config_);
    for (std::size_t s = 0; s < workers_.size(); ++s) {
        const std::size_t count = layouts[s].elements();
        const std::size_t frozen_count = layouts[s].frozen_elements();
        workers_[s]->start_from(StageState::from_tensors(
            layouts[s],
            at,
            part(weights, begin, count),
            part(first_moments, begin, count),
            part(second_moments, begin, count),
            part(frozen, frozen_begin, frozen_count)
        ));
        begin += count;
        frozen_begin += frozen_count;
    }
}

void SingleRun::resume(std::vector<StageState> states) {
    SWARM_ASSERT(states.size() == workers_.size());
    for (std::size_t s = 0; s < states.size(); ++s) {
        SWARM_ASSERT(states[s].version() == states[0].version());
    }
    for (std::size_t s = 0; s < states.size(); ++s) {
        workers_[s]->start_from(std::move(states[s]));
    }
}

void SingleRun::use_codecs(swarm::run::LegCodecs codecs) {
    SWARM_ASSERT(codecs.size() == codecs_.size());
    codecs_ = std::move(codecs);
}

Result<StepRecord> SingleRun::step() {
    const std::uint64_t step = version().step;
    double loss_sum = 0;
    std::vector<StageWorker*> path;
    for (const auto& worker : workers_) {
        path.push_back(worker.get());
    }
    const auto training = swarm::run::training_stages(config_, swarm::run::partition(config_));
    const std::uint32_t microbatches = swarm::run::microbatches_of(config_, step);
    for (std::uint32_t m = 0; m < microbatches; ++m) {
        const auto outcome = run_microbatch(
            path,
            training,
            {step, {{m}, swarm::make_epoch(1, 1)}, plan_.tokens(step, {m}), {}, codecs_}
        );
        if (outcome.has_error() && outcome.error().code == swarm::ErrorCode::NotFinite) {
            return skip(step, "microbatch " + std::to_string(m) + ": " + outcome.error().detail);
        }
        SWARM_TRY(const double loss, outcome);
        loss_sum += loss;
    }
    skips_in_a_row_ = 0;
    return commit(step, loss_sum / static_cast<double>(microbatches));
}

StepRecord SingleRun::skip(std::uint64_t step, std::string reason) {
    ++skips_in_a_row_;
    for (const auto& worker : workers_) {
        worker->drop_all_graphs();
        worker->apply({.clip_factor = 0}, step);
    }
    StepRecord record;
    record.step = step;
    record.skipped = std::move(reason);
    return record;
}

Result<StepRecord> SingleRun::commit(std::uint64_t step, double loss) {
    StepRecord record;
    record.step = step;
    record.loss = loss;
    record.counted_once = swarm::run::microbatches_of(config_, step);
    std::vector<std::int64_t> tied;
    if (swarm::run::trains_tied_matrix(config_) && workers_.size() > 1) {
        tied = tied_sums(*workers_.front(), *workers_.back());
    }
    const auto training = swarm::run::training_stages(config_, swarm::run::partition(config_));
    std::vector<double> sums_of_squares;  // one per tensor, in global order
    for (const auto& worker : workers_) {
        worker->finish_alone(tied);
        StageWorker::ResultSummary summary = worker->summarise_result();
        sums_of_squares.insert(
            sums_of_squares.end(), summary.sums_of_squares.begin(), summary.sums_of_squares.end()
        );
        if (training.has(worker->layout().stage)) {
            record.counted_once = std::min(record.counted_once, summary.counted_once);
        }
        record.counted_wrong = std::max(record.counted_wrong, summary.counted_wrong);
        record.result_hashes.push_back(summary.hash);
    }
    record.gradient_norm = swarm::run::gradient_norm(config_, step, sums_of_squares);
    const auto scalars = swarm::run::step_scalars(config_, step, sums_of_squares);
    for (const auto& worker : workers_) {
        worker->apply(scalars, step);
    }
    return record;
}

swarm::Digest SingleRun::weights_sha256() const {
    std::vector<std::span<const float>> weights;
    for (const auto& worker : workers_) {
        weights.push_back(worker->state().weights());
    }
    return weights_hash(weights);
}

Result<swarm::run::HeldOutLosses> SingleRun::evaluate(
    std::span<const swarm::run::HeldOutText> texts
) {
    std::vector<double> losses;
    for (const auto tokens : swarm::run::held_out_microbatches(config_, texts)) {
        Payload carried;
        for (std::size_t stage = 0; stage + 1 < workers_.size(); ++stage) {
            SWARM_TRY(carried, workers_[stage]->forward_held_out(carried, tokens));
        }
        SWARM_TRY(losses.emplace_back(), workers_.back()->tail_loss(carried, tokens));
    }
    return swarm::run::mean_held_out(config_, texts, losses, version().step);
}

Result<Payload> SingleRun::infer(std::span<const std::uint32_t> tokens) {
    Payload carried;
    for (const auto& worker : workers_) {
        SWARM_TRY(auto output, worker->infer(carried, tokens));
        carried = std::move(output);
    }
    return carried;
}

}  // namespace stages
