// Trains a bridge between two frozen models; gradients reach only the bridge. The optimizer is that
// of training (stages/worker/stage_state): AdamW, warmup, cosine, clipping.
// Invariant: the returned bridge predicts the held-out ends of the texts no worse than the second
// model alone. It is the best bridge that was measured, and the first measured one is zero.
// Threading: one thread. Errors: those of StageCompute; Usage (too little text); Reject.
// Cost per step: a forward of the first model, and a forward and a backward of the second, over
// batch x window tokens. Deviation from training on cached states: the first model's states are
// computed for each step, because windows are drawn at random and rarely come twice.
#pragma once

#include "stacking/composition/bridge.hpp"
#include "stacking/session_compute.hpp"
#include "stages/compute/compute.hpp"
#include "swarm/run/config.hpp"

#include <functional>

namespace stacking::composition {

struct BridgeTraining {
    std::uint32_t steps = 250;
    std::uint32_t batch = 8;
    std::uint32_t window = 128;  // tokens
    double learning_rate = 1e-3;
    std::uint64_t seed = 1;
};

/// Configuration for the two computes: the shape of a batch, and the model's other numbers.
swarm::run::RunConfig bridge_run(
    const swarm::run::ModelConfig& model, const BridgeTraining& training
);

class BridgeTrainer {
 public:
    struct Members {
        stages::StageCompute& lower;       // first model: takes tokens, has no head
        stages::StageCompute& upper;       // second model: has no embedding
        std::size_t upper_parameters = 0;  // size of its gradient, which is thrown away
        std::uint32_t lower_width = 0;     // C1
        std::uint32_t upper_width = 0;     // C2
        std::span<const float> embedding;  // second model's, (V, C2)
    };

    using Text = std::vector<TokenId>;

    /// REQUIRES: the objects behind the references of `members` outlive this one. The last tenth of
    /// each text is held out.
    BridgeTrainer(Members members, BridgeTraining training, std::span<const Text> texts);

    struct Progress {
        std::uint32_t step = 0;
        double loss = 0;      // this step's batch, nats per token
        double held_out = 0;  // best bridge so far, nats per token
    };

    /// Returns the best bridge. Calls `on_step` after each step.
    swarm::Result<Bridge> train(const std::function<void(const Progress&)>& on_step);

    /// Loss of the second model alone on the held-out text. REQUIRES: train() has returned.
    [[nodiscard]] double start_loss() const { return start_loss_; }

    [[nodiscard]] double best_loss() const { return best_loss_; }

 private:
    void hold_out(std::span<const Text> texts);
    [[nodiscard]] Text batch_of(std::uint64_t step) const;
    /// Returns the loss of the batch, and adds its gradient to `gradient` unless that is empty.
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

}  // namespace stacking::composition
