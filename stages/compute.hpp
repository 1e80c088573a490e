// The seam to the model: forward, backward and inference of one stage, on floats in host memory or,
// where the compute has a coder, on its device.
// Weights, optimizer, accumulator and reduction are not in here: they are the same for every model
// (stages/stage_state, stages/accumulator).
// Threading: one thread (the device's), the one that first called.
// Shapes: activations and their gradients are (B, T, C) fp32, row-major.
// Errors: Malformed or Mismatch (shape, token id), NotFinite, NotFound (no kept graph); all Reject.
#pragma once

#include "stages/stage_tensor.hpp"
#include "swarm/base/ids.hpp"
#include "swarm/base/result.hpp"
#include "swarm/protocol/message.hpp"
#include "swarm/run/partition.hpp"

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace stages {

using swarm::Result;

/// Names the kept graph of one forward.
struct GraphKey {
    swarm::MicrobatchId microbatch;
    swarm::Attempt attempt;

    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 misreads the 0 inside a defaulted <=>
    friend auto operator<=>(const GraphKey&, const GraphKey&) = default;
};

class TensorCoder;

class StageCompute {
 public:
    struct TailOutput {
        double loss = 0;             // mean over the microbatch's B x T targets
        StageTensor gradient_below;  // by this stage's input; empty when it is the only stage
    };

    StageCompute() = default;
    StageCompute(const StageCompute&) = delete;
    StageCompute& operator=(const StageCompute&) = delete;
    virtual ~StageCompute() = default;

    /// Called before anything else and after every change. `weights`: all tensors of the layout in
    /// order, flat; valid and unchanged until the next call.
    virtual void use_weights(std::span<const float> weights) = 0;

    /// `tokens`: B x (T + 1). `input`: null for the stage with the embedding. With `keep` the graph
    /// stays until backward() or drop().
    virtual Result<StageTensor> forward(
        GraphKey key, const StageTensor* input, std::span<const std::uint32_t> tokens, bool keep
    ) = 0;

    /// The last stage: forward, loss and backward in one. `gradient` (flat, as the weights) is
    /// overwritten by the gradient of loss / microbatches. Keeps no graph.
    virtual Result<TailOutput> forward_tail(
        const StageTensor* input, std::span<const std::uint32_t> tokens, std::span<float> gradient
    ) = 0;

    /// `by_output`: gradient by this stage's output. Uses up the kept graph. The returned tensor
    /// (gradient by the input) is empty for the stage with the embedding.
    virtual Result<StageTensor> backward(
        GraphKey key, const StageTensor& by_output, std::span<float> gradient
    ) = 0;

    /// Null: every tensor is in host memory. Else those that forward(), forward_tail() and
    /// backward() return are on the device; they take either.
    [[nodiscard]] virtual TensorCoder* coder() { return nullptr; }

    virtual void drop(GraphKey key) = 0;
    virtual void drop_all() = 0;

    /// What one kept graph takes in memory, all of a stage being alike; 0 before the first.
    [[nodiscard]] virtual std::uint64_t graph_bytes() const = 0;

    /// Like forward() without gradients; `tokens` are 1 x T, T <= context. The last stage returns
    /// logits of the last position, (1, 1, V).
    virtual Result<StageTensor> infer(
        const StageTensor* input, std::span<const std::uint32_t> tokens
    ) = 0;

    /// Device kind, ISA level, threads, library version: bits are equal within one class.
    [[nodiscard]] virtual std::string compute_class() const = 0;
};

using MakeCompute = std::function<std::unique_ptr<StageCompute>(
    const swarm::run::RunConfig& config, const swarm::run::StageLayout& layout
)>;

}  // namespace stages
