// One training run of the quality bench: `swarm train --single` with a row's codecs, whose weights
// are tried on held-out text about thirty times on the way.
// Invariant: runs of a seed see the same text in the same order, and rows of all seeds are tried on
// the same. Trying changes nothing: it has its own copy of the model, in one stage.
// Threading: one thread. Errors: of SingleRun and the compute factory; NotFinite for a step that
// was skipped, since such a run compares with no other; Malformed (text too short).
// Cost: a trial is as much computing as a step. Memory: the model twice.
#pragma once

#include "stages/joining.hpp"
#include "stages/single_run.hpp"
#include "tests/bench/quality_report.hpp"

#include <memory>
#include <string>
#include <vector>

namespace swarm::bench {

/// The demo model, trained as this row says: "int8", or "int4/int8" for forward and backward. The
/// one place where a row's name becomes a way of training.
run::RunConfig config_of_row(const std::string& row, std::uint64_t steps, std::uint64_t seed);

/// config.codec names codecs, not "auto".
LegBytes leg_bytes(const run::RunConfig& config);

struct QualityText {
    run::Corpus training;
    run::Corpus held_out;  // the last tenth
};

Result<QualityText> split_text(run::Corpus corpus, const run::RunConfig& config);

/// Of one trial.
std::uint64_t held_out_tokens(const run::RunConfig& config);

class QualityRun {
 public:
    /// `text` outlives the run.
    static Result<std::unique_ptr<QualityRun>> start(
        const run::RunConfig& config, const stages::ComputeFactory& factory, const QualityText& text
    );

    /// Also beyond config.steps, at the last learning rate.
    Result<> step();

    [[nodiscard]] std::uint64_t steps_made() const { return run_.version().step; }

    [[nodiscard]] const LossCurve& held_out() const { return held_out_; }

    [[nodiscard]] std::string machine() const { return whole_->compute_class(); }

    [[nodiscard]] SeedRun result() const;

 private:
    QualityRun(
        const run::RunConfig& config,
        const stages::MakeCompute& make,
        std::unique_ptr<stages::StageCompute> whole,
        const QualityText& text
    );

    [[nodiscard]] bool trial_is_due() const;
    Result<> try_weights();

    stages::SingleRun run_;
    std::unique_ptr<stages::StageCompute> whole_;
    run::BatchPlan trial_;
    LossCurve training_;
    LossCurve held_out_;
    std::vector<double> compute_s_;  // by step
    std::vector<float> weights_;     // of all stages
    std::vector<float> gradient_;    // thrown away
};

}  // namespace swarm::bench
