// `train --single`: the whole run in one process, with the same stage workers, codecs, data order
// and scalars as the distributed run. What a run under any faults must equal, bit for bit.
// Invariant: after step t the weights of each stage equal those of its replicas after COMMIT(t). A
// step with a microbatch that is not finite is skipped, as the coordinator skips it.
// Threading: one thread. Memory: all stages'. Errors: of StageWorker; the failed step can not be
// repeated, resume from a checkpoint instead.
#pragma once

#include "stages/stage_worker.hpp"
#include "swarm/run/batch_plan.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace stages {

struct StepRecord {
    std::uint64_t step = 0;  // the one just made, from 0
    double loss = 0;         // fp64 mean over the microbatches in order of id, before the update
    double gradient_norm = 0;
    std::uint32_t counted_once = 0;  // the least of any stage; config.microbatches when all is well
    std::uint32_t counted_wrong = 0;           // the most of any stage; 0 when all is well
    std::vector<swarm::Digest> result_hashes;  // by stage
    std::optional<std::string> skipped{};      // why; then nothing above but `step` means anything
};

/// One microbatch up through the workers of all stages and back, whose gradients are then added;
/// returns its loss. `leg`: that of the first stage.
Result<double> run_microbatch(std::span<StageWorker* const> path, StageWorker::Leg leg);

class SingleRun {
 public:
    /// config has passed check_run(). Version 0; the oracle model takes an empty corpus.
    SingleRun(swarm::run::RunConfig config, MakeCompute make_compute, swarm::run::Corpus corpus);

    /// Goes on from states of the same model, in stage order, all of one version.
    void resume(std::vector<StageState> states);

    /// Of the steps from now on; until then those that the run begins with.
    void use_codecs(swarm::run::LegCodecs codecs);

    /// Layers of as many stages as there are: where the codecs' errors come about.
    void cut_as(const std::vector<std::uint32_t>& layers_per_stage);

    Result<StepRecord> step();

    [[nodiscard]] const swarm::run::RunConfig& config() const { return config_; }

    [[nodiscard]] swarm::ParameterVersion version() const { return workers_[0]->state().version(); }

    /// Up to the newest step, since the process started.
    [[nodiscard]] std::uint32_t skips_in_a_row() const { return skips_in_a_row_; }

    [[nodiscard]] std::uint32_t stages() const {
        return static_cast<std::uint32_t>(workers_.size());
    }

    [[nodiscard]] std::vector<std::uint32_t> layers_per_stage() const;

    [[nodiscard]] const StageState& state(std::uint32_t stage) const {
        return workers_[stage]->state();
    }

    /// Of all weights in global order: comparable between runs with other numbers of stages.
    [[nodiscard]] swarm::Digest weights_sha256() const;

    /// The last stage's logits after the prompt, (1, 1, V).
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
    std::vector<std::unique_ptr<StageWorker>> workers_;  // by stage
    std::uint32_t skips_in_a_row_ = 0;
};

}  // namespace stages
