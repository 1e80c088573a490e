// The seam to the model: forward, backward and inference of one stage, on floats in host memory or,
// where the compute has a coder, on its device.
// Weights, optimizer, accumulator and reduction are not part of it, because they are the same for
// every model (stages/worker/stage_state, stages/worker/accumulator).
// Threading: one thread, the one that calls first (the device's).
// Shapes: activations and their gradients are (B, T, C) fp32, row-major.
// Errors: Malformed or Mismatch (shape, token id), NotFinite, NotFound (no kept graph). All of them
// say Reject: the caller drops the tensor or the microbatch.
#pragma once

#include "stages/compute/stage_tensor.hpp"
#include "swarm/base/ids.hpp"
#include "swarm/base/result.hpp"
#include "swarm/protocol/message.hpp"
#include "swarm/run/partition.hpp"
#include "swarm/run/training/paths.hpp"

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

/// Whether a forward keeps its graph for a backward.
enum class Graph : std::uint8_t { Drop, Keep };

class TensorCoder;

class StageCompute {
 public:
    struct TailOutput {
        double loss = 0;             // mean over the targets that count; 0: none does
        StageTensor gradient_below;  // gradient by this stage's input; empty for a single stage
    };

    StageCompute() = default;
    StageCompute(const StageCompute&) = delete;
    StageCompute& operator=(const StageCompute&) = delete;
    virtual ~StageCompute() = default;

    /// Takes the weights of layout.frozen, in order, flat; they stay valid and unchanged. Is called
    /// before use_weights(), where the layout has some.
    virtual void use_frozen(std::span<const float> /*weights*/) {}

    /// Is called before anything else and after every change of the weights. `weights` are all
    /// tensors of the layout in order, flat; they stay valid and unchanged until the next call.
    virtual void use_weights(std::span<const float> weights) = 0;

    /// `tokens` are B x (T + 1); targets may have kNoLossFlag. `input` is null for the stage with
    /// the embedding. A kept graph stays until backward() or drop().
    virtual Result<StageTensor> forward(
        GraphKey key, const StageTensor* input, std::span<const std::uint32_t> tokens, Graph graph
    ) = 0;

    /// Does forward, loss and backward of the last stage in one call. `gradient` (flat, as the
    /// weights) is overwritten by the gradient of loss / microbatches. No graph is kept.
    virtual Result<TailOutput> forward_tail(
        const StageTensor* input, std::span<const std::uint32_t> tokens, std::span<float> gradient
    ) = 0;

    /// Does the same in a looped step (swarm/run/training/loop.hpp): loss and gradient are those of
    /// the second pass. REQUIRES: this stage is the only one. Error: Unsupported, where none loops.
    virtual Result<TailOutput> looped_tail(
        std::span<const std::uint32_t> /*tokens*/, std::span<float> /*gradient*/
    ) {
        return swarm::Error{
            swarm::ErrorCode::Unsupported,
            swarm::Reaction::Reject,
            "this model has no looped steps; leave loop.every out"};
    }

    /// Sets the path through the layers of run.paths that forward() and forward_tail() take until
    /// the next call; the plain one before the first. Other calls take the plain path.
    virtual void take_path(swarm::run::LayerPath /*path*/) {}

    /// Returns the loss that forward_tail() would, bit by bit, without any gradient. It is for
    /// tokens of no step: the oracle takes those of any microbatch.
    virtual Result<double> tail_loss(
        const StageTensor* input, std::span<const std::uint32_t> tokens
    ) = 0;

    /// `by_output` is the gradient by this stage's output. The call uses up the kept graph. The
    /// returned tensor (gradient by the input) is empty for the stage with the embedding.
    virtual Result<StageTensor> backward(
        GraphKey key, const StageTensor& by_output, std::span<float> gradient
    ) = 0;

    /// Null means that every tensor is in host memory. Else the tensors that forward(),
    /// forward_tail() and backward() return are on the device; these calls take either kind.
    [[nodiscard]] virtual TensorCoder* coder() { return nullptr; }

    virtual void drop(GraphKey key) = 0;
    virtual void drop_all() = 0;

    /// Memory of one kept graph in bytes (all graphs of a stage have one size); 0 before the first.
    [[nodiscard]] virtual std::uint64_t graph_bytes() const = 0;

    /// Works like forward() without gradients; `tokens` are 1 x T, T <= context. The last stage
    /// returns the logits of the last position, (1, 1, V).
    virtual Result<StageTensor> infer(
        const StageTensor* input, std::span<const std::uint32_t> tokens
    ) = 0;

    /// Device kind, ISA level, threads and library version. Results are bit-equal within a class.
    [[nodiscard]] virtual std::string compute_class() const = 0;
};

using MakeCompute = std::function<std::unique_ptr<StageCompute>(
    const swarm::run::RunConfig& config, const swarm::run::StageLayout& layout
)>;

}  // namespace stages
