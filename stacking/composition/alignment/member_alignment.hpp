// Trains the layers of a chain's first member towards targets that the next member has made, with
// the loss on the text's tokens as an anchor, so that it stays a model of its own:
//   loss = cross entropy of its own head + weight x mean over rows of |h - v|^2 / |v|^2
// Its embedding and head stay as they are, because the members of a chain share them. The optimizer
// is that of training (stages/worker/stage_state): AdamW, warm-up, cosine, clipping.
// Batches are drawn with the seed; the last shard is held out and never trained on.
// Threading: one thread. Errors: those of StageCompute and of the shards; Mismatch (a shard of
// another shape); Reject. Cost per step: a forward and a backward of the member over a batch, and
// the reading of a shard.
// Source: model stacking (S. Mueller, 2025), asynchronous alignment.
#pragma once

#include "stacking/composition/alignment/state_shard.hpp"
#include "stages/compute/compute.hpp"
#include "stages/worker/stage_state.hpp"
#include "swarm/run/config.hpp"

#include <functional>
#include <vector>

namespace stacking::composition {

struct AlignSettings {
    std::uint32_t steps = 120;
    double learning_rate = 3e-4;
    double weight = 1;  // factor of the distance from the targets
    std::uint64_t seed = 1;
};

class MemberAlignment {
 public:
    struct Member {
        stages::StageCompute& layers;  // takes tokens, has no head
        stages::StageCompute& head;    // has no layers
        stages::StageState state;      // weights of `layers`; the embedding is frozen
    };

    /// Reads the targets of one shard.
    using ReadShard = std::function<swarm::Result<StateShard>(std::uint32_t number)>;

    /// `config`: the run whose batches the computes take; the number of its steps. `manifest`: of
    /// the targets, two shards or more, and batches of config.batch. REQUIRES: the objects behind
    /// the references of `member` outlive this one.
    MemberAlignment(
        Member member,
        swarm::run::RunConfig config,
        StateManifest manifest,
        ReadShard read,
        AlignSettings settings
    );

    struct Losses {
        double tokens = 0;    // nats per token, by the member's own head
        double distance = 0;  // mean over rows of |h - v|^2 / |v|^2
    };

    /// The losses of the held-out shard.
    [[nodiscard]] swarm::Result<Losses> held_out();

    /// Makes all steps. Calls `on_step` after each one, with the losses of its batch.
    swarm::Result<> train(const std::function<void(std::uint32_t step, const Losses&)>& on_step);

    /// Weights of the layers, flat, in the order of their layout.
    [[nodiscard]] std::span<const float> weights() const { return member_.state.weights(); }

 private:
    [[nodiscard]] swarm::Result<StateShard> read(std::uint32_t number) const;
    /// Returns the losses of a batch of targets, and their gradient unless that is empty.
    swarm::Result<Losses> run(const StateShard& batch, std::span<float> gradient);

    Member member_;
    swarm::run::RunConfig config_;
    StateManifest manifest_;
    ReadShard read_;
    AlignSettings settings_;
};

}  // namespace stacking::composition
