// StageCompute on LibTorch: checks what comes in, keeps the graphs between forward and backward,
// and turns every exception of LibTorch into an Error.
// Invariants: a backward sees the weights that its forward saw (use_weights() drops all graphs),
// and only its own graph: gradients are asked for by name and never summed up in the leaves, so
// kept graphs do not mix and their order does not matter.
// Threading: one thread, with a fixed number of intra-op threads. LibTorch's setting binds only the
// thread that made it, so every entry makes it.
// Shapes: training (B, T, C) with B = batch, T = context; inference (1, T, C), T <= context; fp32.
// Errors: those of StageCompute, and Unsupported (Fatal) when LibTorch itself fails, as for memory.
// Memory: 4 P bytes for the leaves where the caller's weights are not aligned, and the kept graphs.
#pragma once

#include "stages/compute/compute.hpp"
#include "stages/compute/tensor_coder.hpp"
#include "stages/torch/llama_model.hpp"
#include "stages/torch/loss_terms.hpp"
#include "swarm/base/result.hpp"

#include <ATen/core/Tensor.h>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace stages::torch_backend {

class LlamaCompute final : public StageCompute {
 public:
    /// `layout` has passed check_layout(). `threads`: of LibTorch, above 0. `device_class` is the
    /// first part of compute_class().
    /// `coder` belongs to the same device, or is null.
    LlamaCompute(
        const swarm::run::RunConfig& config,
        const swarm::run::StageLayout& layout,
        at::Device device,
        std::uint32_t threads,
        std::string device_class,
        std::unique_ptr<TensorCoder> coder = nullptr
    );

    void use_frozen(std::span<const float> weights) override;
    void use_weights(std::span<const float> weights) override;
    Result<StageTensor> forward(
        GraphKey key, const StageTensor* input, std::span<const std::uint32_t> tokens, Graph graph
    ) override;
    Result<TailOutput> forward_tail(
        const StageTensor* input, std::span<const std::uint32_t> tokens, std::span<float> gradient
    ) override;
    Result<TailOutput> looped_tail(std::span<const std::uint32_t> tokens, std::span<float> gradient)
        override;

    void take_path(swarm::run::LayerPath path) override { path_ = path; }
    Result<double> tail_loss(const StageTensor* input, std::span<const std::uint32_t> tokens)
        override;
    Result<StageTensor> backward(
        GraphKey key, const StageTensor& by_output, std::span<float> gradient
    ) override;

    [[nodiscard]] TensorCoder* coder() override { return coder_.get(); }

    void drop(GraphKey key) override;
    void drop_all() override;

    /// The size is measured at the first forward that keeps its graph.
    [[nodiscard]] std::uint64_t graph_bytes() const override { return graph_bytes_; }

    Result<StageTensor> infer(const StageTensor* input, std::span<const std::uint32_t> tokens)
        override;
    [[nodiscard]] std::string compute_class() const override;

 private:
    struct KeptGraph {
        at::Tensor input;   // leaf, (B, T, width_below()) fp32; undefined in the first stage
        at::Tensor output;  // (B, T, width_above()) fp32; the scalar loss in the last stage
        std::vector<LossTerm> terms = {};
    };

    /// Whether a loss is that of the only pass of a microbatch, or of the second one of two.
    enum class Pass : std::uint8_t { Only, Second };

    /// Values per token of the tensors that cross the boundaries above and below the stage.
    [[nodiscard]] std::uint32_t width_above() const;
    [[nodiscard]] std::uint32_t width_below() const;
    [[nodiscard]] Result<at::Tensor> read_tokens(
        std::span<const std::uint32_t> tokens, std::int64_t rows, std::int64_t columns
    ) const;
    /// Returns the ids of a microbatch, (B, T + 1), without flags.
    [[nodiscard]] Result<at::Tensor> read_microbatch(std::span<const std::uint32_t> tokens) const;
    [[nodiscard]] Result<at::Tensor> training_input(
        const StageTensor* input, std::span<const std::uint32_t> tokens
    ) const;
    /// Returns the input of the last stage, and the loss as a scalar, which is finite.
    [[nodiscard]] Result<KeptGraph> run_tail(
        const StageTensor* input,
        std::span<const std::uint32_t> tokens,
        Pass pass,
        swarm::run::LayerPath path
    ) const;
    /// Returns the attention mask of a microbatch; no tensor where the run does not separate
    /// documents.
    [[nodiscard]] Result<at::Tensor> mask_of(std::span<const std::uint32_t> tokens) const;
    /// Returns the tokens of the rows of a microbatch, (B, T), where a stage behind a bottleneck
    /// reads them; elsewhere no tensor.
    [[nodiscard]] Result<at::Tensor> ids_of(std::span<const std::uint32_t> tokens) const;
    [[nodiscard]] Result<at::Tensor> inference_input(
        const StageTensor* input, std::span<const std::uint32_t> tokens
    ) const;
    [[nodiscard]] std::vector<at::Tensor> tensors_of(
        std::span<const float> values, std::span<const swarm::run::TensorSpec> specs, bool trained
    ) const;
    /// Returns the terms of loss / microbatches that the stage adds; none without gradients.
    [[nodiscard]] Result<std::vector<LossTerm>> terms_of(
        const LlamaModel::Layers& layers, std::span<const std::uint32_t> tokens
    ) const;
    /// Makes the gradients of sum(output x by_output) + the terms of the graph.
    /// Writes that of the weights to `gradient` and returns that of the input.
    Result<StageTensor> differentiate(
        const KeptGraph& graph, const at::Tensor& by_output, std::span<float> gradient
    ) const;
    /// The same for a graph of run_tail().
    Result<TailOutput> differentiate_tail(const KeptGraph& graph, std::span<float> gradient) const;
    /// Returns a tensor that leaves the stage: on the device where there is a coder, else in host
    /// memory.
    [[nodiscard]] Result<StageTensor> leave(const at::Tensor& tensor) const;
    /// Runs `body` with threads_ threads and the weights in place; its exceptions become Errors.
    template <class Body>
    auto guarded(const char* what, Body body) -> decltype(body());

    swarm::run::RunConfig config_;
    swarm::run::StageLayout layout_;
    at::Device device_;
    std::uint32_t threads_;
    std::string device_class_;
    std::unique_ptr<TensorCoder> coder_;
    LlamaModel model_;
    std::map<GraphKey, KeptGraph> graphs_;
    std::uint64_t graph_bytes_ = 0;
    swarm::run::LayerPath path_ = swarm::run::LayerPath::Plain;
    std::optional<swarm::Error> weights_error_;  // error of use_weights(); the next call returns it
    std::optional<swarm::Error> frozen_error_;   // the same of use_frozen()
    bool has_weights_ = false;
};

}  // namespace stages::torch_backend
