// One training run of the quality bench: `swarm train --single` with a row's codecs or in its mode,
// whose weights are tried on held-out text about thirty times on the way.
// Invariant: runs of a seed see the same text in the same order, and rows of all seeds are tried on
// the same text. A trial changes nothing: it has its own copy of the model, in one stage. The
// weights that are tried are those that all replicas share.
// Threading: one thread. Errors: those of SingleRun, SparseRun and the compute factory; NotFinite
// for a step that was skipped, since such a run compares with no other; Malformed (text too short).
// Cost: a trial is as much computing as a step. Memory: the model twice, and once for each replica.
#pragma once

#include "stages/server/joining.hpp"
#include "stages/single/single_run.hpp"
#include "stages/single/sparse_run.hpp"
#include "tests/bench/quality/quality_report.hpp"

#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace swarm::bench {

/// Replicas of each stage in the rows of modes.
inline constexpr std::uint32_t kModeReplicas = 2;

/// The demo model, trained as this row says: "int8", or "int4/int8" for forward and backward; a
/// mode without a codec. Only this function turns a row's name into a way of training.
run::RunConfig config_of_row(const std::string& row, std::uint64_t steps, std::uint64_t seed);

/// REQUIRES: config.codec names codecs, not "auto".
LegBytes leg_bytes(const run::RunConfig& config);

/// The synchronisation of kModeReplicas replicas in config.mode.
Synchronisation synchronisation(const run::RunConfig& config, double line_bytes_per_s);

struct QualityText {
    run::Corpus training;
    run::Corpus held_out;  // the last tenth of the text
};

Result<QualityText> split_text(run::Corpus corpus, const run::RunConfig& config);

/// Tokens that one trial is made on.
std::uint64_t held_out_tokens(const run::RunConfig& config);

class QualityRun {
 public:
    /// `text` outlives the run.
    static Result<std::unique_ptr<QualityRun>> start(
        const run::RunConfig& config, const stages::ComputeFactory& factory, const QualityText& text
    );

    /// Makes one step, also beyond config.steps, at the last learning rate.
    Result<> step();

    [[nodiscard]] std::uint64_t steps_made() const;

    [[nodiscard]] const LossCurve& held_out() const { return held_out_; }

    [[nodiscard]] std::string machine() const { return whole_->compute_class(); }

    [[nodiscard]] SeedRun result() const;

 private:
    using Run = std::variant<stages::SingleRun, stages::SparseRun>;

    /// Neither kind of run can be moved: it is made where it stays.
    static Run make_run(
        const run::RunConfig& config, const stages::MakeCompute& make, const run::Corpus& corpus
    );

    QualityRun(
        const run::RunConfig& config,
        const stages::MakeCompute& make,
        std::unique_ptr<stages::StageCompute> whole,
        const QualityText& text
    );

    [[nodiscard]] const run::RunConfig& config() const;
    /// Copies the weights of all stages, one after the other; mode sparse has just exchanged.
    void copy_weights();
    Result<> try_weights();

    Run run_;
    std::unique_ptr<stages::StageCompute> whole_;
    run::BatchPlan trial_;
    LossCurve training_;
    LossCurve held_out_;
    std::vector<double> compute_s_;  // by step
    std::vector<float> weights_;     // the weights that are tried
    std::vector<float> gradient_;    // not used
};

}  // namespace swarm::bench
