// `train --single` with mode sparse: each stage as several replicas in one process, which train
// alone and share what they have changed (stages/sparse_sync). The reference for the same over
// peers, as SingleRun is for mode exact.
// Microbatch m of step t is trained on by replica (m + s t) mod R of stage s, so that the replicas
// of one stage meet all those of another. A replica's step is that of the mean gradient over its
// own microbatches; one clip factor holds for all, from the mean of their squared norms.
// Invariant: after a step for which is_sync_step() holds all replicas have the shared weights, bit
// for bit; moments and error buffers are each replica's own.
// Threading: one thread. Memory: StageWorker's and 4 bytes per weight for each replica, 4 for all.
// Errors: as SingleRun, and NotFinite when replicas have drifted out of fp32.
#pragma once

#include "stages/checkpoint.hpp"
#include "stages/single_run.hpp"
#include "stages/sparse_replica.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace stages {

class SparseRun {
 public:
    /// config has passed check_run() and its mode is Sparse. Version 0.
    SparseRun(
        swarm::run::RunConfig config, const MakeCompute& make_compute, swarm::run::Corpus corpus
    );

    /// Goes on from states of the same model, in stage order, all of one version. `kept`: by stage
    /// and replica; who is not there joins, with the stage's moments and nothing in its buffer.
    void resume(std::vector<StageState> states, std::vector<std::vector<ReplicaState>> kept);

    /// A step that is not finite is skipped by all, as SingleRun's.
    Result<StepRecord> step();

    /// The replica is gone, with all that it has not sent, and another joins in its place: with the
    /// shared weights, the moments of the next replica, and nothing in its buffer. Returns how many
    /// microbatches it had trained on since the last exchange. A stage has two replicas or more.
    std::uint64_t replace(std::uint32_t stage, std::uint32_t replica);

    [[nodiscard]] const swarm::run::RunConfig& config() const { return config_; }

    [[nodiscard]] swarm::ParameterVersion version() const { return state(0, 0).version(); }

    [[nodiscard]] std::uint32_t skips_in_a_row() const { return skips_in_a_row_; }

    [[nodiscard]] std::uint32_t stages() const {
        return static_cast<std::uint32_t>(stages_.size());
    }

    [[nodiscard]] std::uint32_t replicas() const {
        return static_cast<std::uint32_t>(stages_[0].replicas.size());
    }

    [[nodiscard]] const StageState& state(std::uint32_t stage, std::uint32_t replica) const {
        return stages_[stage].replicas[replica].worker->state();
    }

    /// What the replica has not sent yet; without what it has trained since the last exchange.
    [[nodiscard]] std::span<const float> error(std::uint32_t stage, std::uint32_t replica) const {
        return stages_[stage].replicas[replica].sparse.error();
    }

    /// Of the shared weights, in global order.
    [[nodiscard]] swarm::Digest weights_sha256() const;

    /// What one replica of each stage sends in an exchange, all stages together.
    [[nodiscard]] std::uint64_t share_bytes() const;

 private:
    struct Replica {
        std::unique_ptr<StageWorker> worker;
        SparseReplica sparse;
        std::uint32_t held = 0;  // microbatches of this step
    };

    struct Stage {
        swarm::run::StageLayout layout;
        std::vector<Replica> replicas;  // all with the same shared weights

        [[nodiscard]] const SparseReplica::Weights& shared() const {
            return replicas[0].sparse.shared();
        }
    };

    /// Runs every microbatch; the mean of their losses.
    Result<double> run_microbatches(std::uint64_t step);
    StepRecord take_local_steps(std::uint64_t step, double loss);
    StepRecord skip(std::uint64_t step, std::string reason);
    Result<> synchronise(std::uint64_t step);

    swarm::run::RunConfig config_;
    swarm::run::Corpus corpus_;
    swarm::run::BatchPlan plan_;
    const compression::Codec* codec_;
    std::vector<Stage> stages_;
    std::uint32_t skips_in_a_row_ = 0;
};

}  // namespace stages
