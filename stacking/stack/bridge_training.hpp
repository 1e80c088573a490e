// Trains a bridge between two frozen models: gradients reach the bridge alone.
// The optimizer is training's own (stages/stage_state): AdamW, warmup, cosine, clipping.
// Invariant: what comes back predicts the held-out ends of the texts no worse than the second model
// alone: the best bridge that was seen, and the zero bridge is the first that is seen.
// Threading: one thread. Errors: those of StageCompute; Usage (too little text); Reject.
// Cost per step: a forward of the first model, forward and backward of the second, over batch x
// window tokens. Deviation from training on cached states: the first model's states are computed as
// they are needed, since windows are drawn and rarely come twice.
#pragma once

#include "stacking/session_compute.hpp"
#include "stacking/stack/bridge.hpp"
#include "stages/compute.hpp"
#include "swarm/run/config.hpp"

#include <functional>

namespace stacking::stack {

struct BridgeTraining {
    std::uint32_t steps = 250;
    std::uint32_t batch = 8;
    std::uint32_t window = 128;  // tokens
    double learning_rate = 1e-3;
    std::uint64_t seed = 1;
};

/// For whom makes the computes: the shape of a batch, with the model's other numbers.
swarm::run::RunConfig bridge_run(
    const swarm::run::ModelConfig& model, const BridgeTraining& training
);

class BridgeTrainer {
 public:
    struct Members {
        stages::StageCompute& lower;       // takes tokens, has no head
        stages::StageCompute& upper;       // has no embedding
        std::size_t upper_parameters = 0;  // whose gradient is thrown away
        std::uint32_t lower_width = 0;
        std::uint32_t upper_width = 0;
        std::span<const float> embedding;  // of the second model, (V, C2)
    };

    using Text = std::vector<TokenId>;

    /// What lives at the references outlives this object. The last tenth of each text is held out.
    BridgeTrainer(Members members, BridgeTraining training, std::span<const Text> texts);

    struct Progress {
        std::uint32_t step = 0;
        double loss = 0;      // of this step's batch, nats per token
        double held_out = 0;  // of the best bridge so far
    };

    /// The best bridge. `on_step` after each step.
    swarm::Result<Bridge> train(const std::function<void(const Progress&)>& on_step);

    /// Of the second model alone, on what is held out; after train().
    [[nodiscard]] double start_loss() const { return start_loss_; }

    [[nodiscard]] double best_loss() const { return best_loss_; }

 private:
    void hold_out(std::span<const Text> texts);
    [[nodiscard]] Text batch_of(std::uint64_t step) const;
    /// Loss of the batch; into gradient_ when there is one.
    swarm::Result<double> run(
        const Bridge& bridge, std::span<const TokenId> batch, std::span<float> gradient
    );
    swarm::Result<double> held_out(const Bridge& bridge);

    Members members_;
    BridgeTraining training_;
    Text text_;
    Text held_;  // whole batches
    std::vector<float> thrown_away_;
    double start_loss_ = 0;
    double best_loss_ = 0;
};

}  // namespace stacking::stack
