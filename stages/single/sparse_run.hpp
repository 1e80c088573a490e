// `train --single` in mode sparse: each stage has several replicas in one process, which train
// alone and exchange what they have changed (stages/worker/sparse_sync). It is the reference for
// mode sparse over peers, as SingleRun is for mode exact.
// Replica (m + s t) mod R of stage s trains on microbatch m of step t, so the replicas of one stage
// meet all replicas of every other stage. A replica's step uses the mean gradient over its own
// microbatches; one clip factor holds for all, from the mean of their squared norms.
// Invariant: after a step for which is_sync_step() holds, all replicas of a stage have the shared
// weights, bit for bit; moments and buffers are each replica's own.
// Threading: one thread. Memory: per replica StageWorker's and 4 bytes per weight, and 4 for all.
// Errors: those of SingleRun, and NotFinite when replicas have drifted out of fp32.
#pragma once

#include "stages/files/checkpoint.hpp"
#include "stages/single/single_run.hpp"
#include "stages/worker/sparse_replica.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace stages {

class SparseRun {
 public:
    /// Starts at version 0. `config` has passed check_run() and its mode is Sparse.
    SparseRun(
        swarm::run::RunConfig config,
        const MakeCompute& make_compute,
        swarm::run::Corpus corpus,
        const swarm::run::SampleRows* rows = nullptr
    );

    /// Goes on from states of the same model, in stage order, all of one version. `kept` has the
    /// replicas' states by stage and replica. A replica without one joins with the stage's moments
    /// and an empty buffer.
    void resume(std::vector<StageState> states, std::vector<std::vector<ReplicaState>> kept);

    /// Makes one step. All replicas skip a step that is not finite, as SingleRun does.
    Result<StepRecord> step();

    /// Replaces a replica, with all that it has not sent, by a newcomer with the shared weights,
    /// the
    /// moments of the next replica and an empty buffer. Returns how many microbatches the replaced
    /// one had trained on since the last exchange. The stage has two replicas or more.
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

    /// The replica's buffer: what it has not sent yet, without what it has trained since the last
    /// exchange.
    [[nodiscard]] std::span<const float> error(std::uint32_t stage, std::uint32_t replica) const {
        return stages_[stage].replicas[replica].sparse.error();
    }

    /// SHA-256 of the shared weights of all stages in global order.
    [[nodiscard]] swarm::Digest weights_sha256() const;

    /// Bytes that one replica of each stage sends in an exchange, all stages together.
    [[nodiscard]] std::uint64_t share_bytes() const;

 private:
    struct Replica {
        std::unique_ptr<StageWorker> worker;
        SparseReplica sparse;
        std::uint32_t held = 0;  // number of microbatches of this step
    };

    struct Stage {
        swarm::run::StageLayout layout;
        std::vector<Replica> replicas;  // replicas with the same shared weights

        [[nodiscard]] const SparseReplica::Weights& shared() const {
            return replicas[0].sparse.shared();
        }
    };

    /// Runs every microbatch and returns the mean of their losses.
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
