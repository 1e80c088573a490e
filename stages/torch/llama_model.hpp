// The layers of one stage of a model of a kind that is trained here as a function of LibTorch
// tensors: RMSNorm, rotary position embedding (rotate-half, as in Hugging Face), causal attention
// with grouped key/value heads, SwiGLU; embedding and head where the layout has them.
// Invariant: a model that is cut into stages runs the same kernels on the same shapes as the whole
// model, so its results are bit-equal.
// Threading: one thread. Shapes: activations (B, T, C) fp32, contiguous. There are H heads and K
// key/value heads of width D. Errors: methods throw c10::Error, which LlamaCompute turns into one.
// Source: Llama 2 (arXiv 2307.09288), RoPE (arXiv 2104.09864), SwiGLU (arXiv 2002.05202), Qwen2
// (arXiv 2407.10671), Qwen3 (arXiv 2505.09388).
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/run/config.hpp"
#include "swarm/run/partition.hpp"
#include "swarm/run/training/expert_stages.hpp"
#include "swarm/run/training/paths.hpp"

#include <ATen/core/Tensor.h>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace stages::torch_backend {

/// Error: Mismatch when a tensor of `layout` is missing, unknown, or of another shape than the
/// model's, or when the heads do not divide the width.
swarm::Result<> check_layout(
    const swarm::run::RunConfig& run, const swarm::run::StageLayout& layout
);

/// A target that counts for no loss; the cross entropy of LibTorch ignores this value.
inline constexpr std::int64_t kNoTarget = -100;

/// Whether some target of a microbatch counts.
enum class Counted : std::uint8_t { None, Some };

class LlamaModel {
 public:
    struct Layers {
        at::Tensor rows;     // (B, T, C)
        at::Tensor balance;  // the stage's part of the balance loss, a scalar; only of a mixture
        std::vector<at::Tensor> exits;  // (B, T, C) at each exit of the stage
    };

    /// `layout` has passed check_layout().
    LlamaModel(
        const swarm::run::RunConfig& run, const swarm::run::StageLayout& layout, at::Device device
    );

    /// Sets one tensor per trained tensor of the layout, in its order and shape.
    void set_weights(std::vector<at::Tensor> weights);
    /// The same for the frozen ones.
    void set_frozen(std::vector<at::Tensor> weights);

    [[nodiscard]] const std::vector<at::Tensor>& weights() const { return weights_; }

    /// Maps (B, T) token ids, int64, to (B, T, C).
    [[nodiscard]] at::Tensor embed(const at::Tensor& ids) const;
    /// Maps (B, T, C) to (B, T, C), T <= context; what comes from or goes to another stage has the
    /// width of that boundary (activation_width() in swarm/run/training/boundary_maps.hpp).
    /// Each layer is computed model.repeat times in a row; a weight has the sum of the gradients of
    /// all its uses. `ids`: tokens of the rows, (B, T), which a stage behind a bottleneck reads.
    /// `mask`: that of document_mask(), or none. `path`: through those of run.paths.layers that the
    /// stage has. Skipped layers have no part in the graph, and the rows are never `x` itself.
    [[nodiscard]] Layers run_layers(
        at::Tensor x,
        const at::Tensor& ids,
        const at::Tensor& mask = {},
        swarm::run::LayerPath path = swarm::run::LayerPath::Plain
    ) const;
    /// Maps (N, C) to (N, V). REQUIRES: the stage has the head, or its copy for exits.
    [[nodiscard]] at::Tensor logits(const at::Tensor& x) const;
    /// Returns the mean cross entropy of (B, T, C) against (B, T) next tokens, a scalar. Targets of
    /// kNoTarget do not count; where `counted` is None all are so, and the loss is 0.
    [[nodiscard]] at::Tensor loss(
        const at::Tensor& x, const at::Tensor& targets, Counted counted = Counted::Some
    ) const;

 private:
    struct Place {
        bool frozen = false;
        std::size_t index = 0;
    };

    [[nodiscard]] const at::Tensor& weight(std::string_view name) const;
    /// x W^T + bias, and what the adapter of W adds, where there is one. A null bias is none.
    [[nodiscard]] at::Tensor linear(
        const at::Tensor& x, const std::string& matrix, const at::Tensor& bias = {}
    ) const;
    [[nodiscard]] at::Tensor norm(const at::Tensor& x, const at::Tensor& gain) const;
    [[nodiscard]] at::Tensor rotate(const at::Tensor& x) const;
    /// Returns (B, T, heads, D): one of "q", "k" and "v" of a layer before the rotation.
    [[nodiscard]] at::Tensor project(
        const at::Tensor& x, const std::string& layer, const char* which, std::int64_t heads
    ) const;
    [[nodiscard]] at::Tensor attention(
        const at::Tensor& x, const std::string& layer, const at::Tensor& mask
    ) const;
    /// `part` is "layers.17.mlp.", or "layers.17.moe.3." for an expert.
    [[nodiscard]] at::Tensor mlp(const at::Tensor& x, const std::string& part) const;
    /// Adds the mixture of a layer, or of the stage's part of it, to x; adds its balance to
    /// `balance`.
    [[nodiscard]] at::Tensor mixture(
        const at::Tensor& x, const std::string& layer, at::Tensor& balance
    ) const;

    swarm::run::ModelConfig config_;
    swarm::run::LayerPart part_;
    swarm::run::ExpertRange experts_;  // all that the part has
    std::vector<std::string> layers_;  // name prefixes such as "layers.17."
    std::string map_up_;               // name of the map from the stage below; empty: there is none
    std::string table_;                // name of the table of tokens beside it
    std::string map_down_;             // name of the map to the stage above; empty: there is none
    std::vector<std::string> exits_;   // those of layers_ that have an exit behind them
    swarm::run::Detour detour_;        // those of layers_ (indices) that run.paths names
    std::string head_;                 // prefix of the head's tensors, or of its copy's
    double adapter_scale_ = 0;
    std::map<std::string, Place, std::less<>> index_;
    std::vector<at::Tensor> weights_;
    std::vector<at::Tensor> frozen_;
    at::Tensor cosines_;  // (context, 1, D / 2) fp32
    at::Tensor sines_;    // (context, 1, D / 2) fp32
};

}  // namespace stages::torch_backend
