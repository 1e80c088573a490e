// `train --single`: the whole run in one process, with the same stage workers, codecs, data order
// and scalars as the distributed run. It is the reference that a run under any faults must equal,
// bit for bit.
// Invariant: after step t the weights of each stage equal those of its replicas after COMMIT(t). A
// step with a microbatch that is not finite is skipped, as the coordinator skips it.
// Threading: one thread. Memory: that of all stages.
// Errors: those of StageWorker. A step that failed cannot be repeated: the caller resumes from a
// checkpoint.
#pragma once

#include "stages/worker/stage_worker.hpp"
#include "swarm/run/batch_plan.hpp"
#include "swarm/run/training/held_out.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace stages {

struct StepRecord {
    std::uint64_t step = 0;  // number of the step just made, from 0
    double loss = 0;         // fp64 mean over the microbatches in order of id, before the update
    double gradient_norm = 0;
    std::uint32_t counted_once = 0;   // least of all that train; run.microbatches when all is well
    std::uint32_t counted_wrong = 0;  // most of all stages; 0 when all is well
    std::vector<swarm::Digest> result_hashes;  // hashes by stage
    std::optional<std::string> skipped{};  // reason of a skip; then only `step` above has a meaning
};

/// Runs one microbatch up through the workers of all stages and back and adds its gradients in the
/// stages of `training` (run::training_stages()). Returns its loss. `leg` is the leg of the first
/// stage.
Result<double> run_microbatch(
    std::span<StageWorker* const> path, swarm::StageMask training, StageWorker::Leg leg
);

class SingleRun {
 public:
    /// Starts at version 0. `config` has passed check_run(). The oracle model takes an empty
    /// corpus.
    /// `rows`, which outlive the run, are read in place of a corpus.
    SingleRun(
        swarm::run::RunConfig config,
        MakeCompute make_compute,
        swarm::run::Corpus corpus,
        const swarm::run::SampleRows* rows = nullptr
    );

    /// Goes on from states of the same model, in stage order, all of one version.
    void resume(std::vector<StageState> states);

    /// Sets the codecs of the following steps. The run begins with swarm::run::first_codecs().
    void use_codecs(swarm::run::LegCodecs codecs);

    /// Sets the layers of each stage; the number of stages stays. The cut decides which activations
    /// and gradients are coded.
    void cut_as(const std::vector<std::uint32_t>& layers_per_stage);

    /// Makes one step.
    Result<StepRecord> step();

    [[nodiscard]] const swarm::run::RunConfig& config() const { return config_; }

    [[nodiscard]] swarm::ParameterVersion version() const { return workers_[0]->state().version(); }

    /// Skipped steps in a row up to the newest step, of this process only.
    [[nodiscard]] std::uint32_t skips_in_a_row() const { return skips_in_a_row_; }

    [[nodiscard]] std::uint32_t stages() const {
        return static_cast<std::uint32_t>(workers_.size());
    }

    [[nodiscard]] std::vector<std::uint32_t> layers_per_stage() const;

    [[nodiscard]] const StageState& state(std::uint32_t stage) const {
        return workers_[stage]->state();
    }

    /// SHA-256 of all weights in global order. Runs with different numbers of stages can be
    /// compared
    /// by it.
    [[nodiscard]] swarm::Digest weights_sha256() const;

    /// Returns the mean losses of held-out texts at the current version, the same as the peers of a
    /// run compute them. NotFinite: a loss is not finite.
    Result<swarm::run::HeldOutLosses> evaluate(std::span<const swarm::run::HeldOutText> texts);

    /// Returns the last stage's logits after the prompt, (1, 1, V).
    Result<Payload> infer(std::span<const std::uint32_t> tokens);

 private:
    void make_workers();
    Result<StepRecord> commit(std::uint64_t step, double loss);
    StepRecord skip(std::uint64_t step, std::string reason);

    swarm::run::RunConfig config_;
    MakeCompute make_compute_;
    swarm::run::Corpus corpus_;
    swarm::run::BatchPlan plan_;
    swarm::run::LegCodecs codecs_;
    std::vector<std::unique_ptr<StageWorker>> workers_;  // one worker per stage
    std::uint32_t skips_in_a_row_ = 0;
};

}  // namespace stages
