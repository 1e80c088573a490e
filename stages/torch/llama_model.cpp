#include "stages/torch/llama_model.hpp"

#include "swarm/base/check.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/sin.h>
#include <cstdint>
#include <utility>

namespace stages::torch_backend {

using at::Tensor;
using swarm::run::ModelConfig;
using swarm::run::StageLayout;
using swarm::run::TensorSpec;

namespace {

std::vector<TensorSpec> expected_tensors(const ModelConfig& config, const StageLayout& layout) {
    const std::uint32_t width = config.width;
    const std::uint32_t kv_width = width / config.heads * config.kv_heads;
    std::vector<TensorSpec> expected;
    if (layout.has_embedding) {
        expected.push_back({"embed.weight", {config.vocabulary, width}});
    }
    for (std::uint32_t i = 0; i < layout.layers; ++i) {
        const std::string layer = "layers." + std::to_string(layout.first_layer + i) + ".";
        expected.push_back({layer + "attn.wk", {kv_width, width}});
        expected.push_back({layer + "attn.wo", {width, width}});
        expected.push_back({layer + "attn.wq", {width, width}});
        expected.push_back({layer + "attn.wv", {kv_width, width}});
        expected.push_back({layer + "attn_norm", {width}});
        expected.push_back({layer + "mlp.w1", {config.ffn_width, width}});
        expected.push_back({layer + "mlp.w2", {width, config.ffn_width}});
        expected.push_back({layer + "mlp.w3", {config.ffn_width, width}});
        expected.push_back({layer + "mlp_norm", {width}});
    }
    if (layout.has_head) {
        expected.push_back({"head.norm", {width}});
        expected.push_back({"head.weight", {config.vocabulary, width}});
    }
    return expected;
}

swarm::Error mismatch(std::string detail) {
    return {swarm::ErrorCode::Mismatch, swarm::Reaction::Reject, std::move(detail)};
}

std::string describe(const TensorSpec& tensor) {
    std::string text = tensor.name + " (";
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
        text += (i == 0 ? "" : ", ") + std::to_string(tensor.shape[i]);
    }
    return text + ")";
}

}  // namespace

swarm::Result<> check_layout(const ModelConfig& config, const StageLayout& layout) {
    if (config.heads == 0 || config.kv_heads == 0 || config.width % config.heads != 0 ||
        config.heads % config.kv_heads != 0 || config.width / config.heads % 2 != 0) {
        return mismatch(
            "width " + std::to_string(config.width) + " does not split into " +
            std::to_string(config.heads) + " heads of even width that share " +
            std::to_string(config.kv_heads) + " key/value heads; change model.heads"
        );
    }
    const std::vector<TensorSpec> expected = expected_tensors(config, layout);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        if (i >= layout.tensors.size() || layout.tensors[i] != expected[i]) {
            return mismatch(
                "the stage's layout needs " + describe(expected[i]) + " as tensor " +
                std::to_string(i) + " and has " +
                (i < layout.tensors.size() ? describe(layout.tensors[i]) : "none")
            );
        }
    }
    if (layout.tensors.size() > expected.size()) {
        return mismatch(
            "the stage's layout has a tensor that a Llama model lacks: " +
            describe(layout.tensors[expected.size()])
        );
    }
    return {};
}

LlamaModel::LlamaModel(const ModelConfig& config, const StageLayout& layout, at::Device device)
    : config_(config) {
    for (std::uint32_t i = 0; i < layout.layers; ++i) {
        layers_.push_back("layers." + std::to_string(layout.first_layer + i) + ".");
    }
    for (std::size_t i = 0; i < layout.tensors.size(); ++i) {
        index_.emplace(layout.tensors[i].name, i);
    }
    // Angles are made in double: float would lose digits of position x frequency in long contexts.
    const std::int64_t half = config.width / config.heads / 2;
    const at::TensorOptions wide(at::kDouble);
    const Tensor exponents = at::arange(half, wide) * (-1.0 / static_cast<double>(half));
    const Tensor positions = at::arange(static_cast<std::int64_t>(config.context), wide);
    const Tensor angles = at::outer(positions, at::pow(config.rope_base, exponents)).unsqueeze(1);
    cosines_ = at::cos(angles).to(at::kFloat).to(device);
    sines_ = at::sin(angles).to(at::kFloat).to(device);
}

void LlamaModel::set_weights(std::vector<Tensor> weights) {
    SWARM_ASSERT(weights.size() == index_.size());
    weights_ = std::move(weights);
}

const Tensor& LlamaModel::weight(std::string_view name) const {
    const auto found = index_.find(name);
    SWARM_ASSERT(found != index_.end());
    return weights_[found->second];
}

Tensor LlamaModel::norm(const Tensor& x, const Tensor& gain) const {
    return at::rms_norm(x, {x.size(-1)}, gain, config_.norm_epsilon);
}

/// Rotates the pair (j, j + D / 2) of each head by position x frequency j. x is (B, T, heads, D).
Tensor LlamaModel::rotate(const Tensor& x) const {
    const std::int64_t half = x.size(3) / 2;
    const Tensor cosines = cosines_.narrow(0, 0, x.size(1));
    const Tensor sines = sines_.narrow(0, 0, x.size(1));
    const Tensor low = x.narrow(3, 0, half);
    const Tensor high = x.narrow(3, half, half);
    return at::cat({low * cosines - high * sines, high * cosines + low * sines}, 3);
}

Tensor LlamaModel::attention(const Tensor& x, const std::string& layer) const {
    const std::int64_t batch = x.size(0);
    const std::int64_t length = x.size(1);
    const std::int64_t heads = config_.heads;
    const std::int64_t kv_heads = config_.kv_heads;
    const std::int64_t head_width = x.size(2) / heads;
    const auto project = [&](const char* name, std::int64_t count) {
        return at::linear(x, weight(layer + name)).view({batch, length, count, head_width});
    };
    // Every key/value head serves heads / kv_heads query heads in a row.
    const auto share = [&](const Tensor& kv) {
        if (heads == kv_heads) {
            return kv;
        }
        return kv.unsqueeze(3)
            .expand({batch, length, kv_heads, heads / kv_heads, head_width})
            .reshape({batch, length, heads, head_width});
    };
    const Tensor queries = rotate(project("attn.wq", heads));
    const Tensor keys = share(rotate(project("attn.wk", kv_heads)));
    const Tensor values = share(project("attn.wv", kv_heads));
    const Tensor mixed = at::scaled_dot_product_attention(
        queries.transpose(1, 2),
        keys.transpose(1, 2),
        values.transpose(1, 2),
        /*attn_mask=*/{},
        /*dropout_p=*/0.0,
        /*is_causal=*/true
    );
    const Tensor joined = mixed.transpose(1, 2).reshape({batch, length, x.size(2)});
    return at::linear(joined, weight(layer + "attn.wo"));
}

Tensor LlamaModel::mlp(const Tensor& x, const std::string& layer) const {
    const Tensor gate = at::silu(at::linear(x, weight(layer + "mlp.w1")));
    const Tensor up = at::linear(x, weight(layer + "mlp.w3"));
    return at::linear(gate * up, weight(layer + "mlp.w2"));
}

Tensor LlamaModel::embed(const Tensor& ids) const {
    return at::embedding(weight("embed.weight"), ids);
}

Tensor LlamaModel::run_layers(Tensor x) const {
    for (const std::string& layer : layers_) {
        x = x + attention(norm(x, weight(layer + "attn_norm")), layer);
        x = x + mlp(norm(x, weight(layer + "mlp_norm")), layer);
    }
    return x;
}

Tensor LlamaModel::logits(const Tensor& x) const {
    return at::linear(norm(x, weight("head.norm")), weight("head.weight"));
}

Tensor LlamaModel::loss(const Tensor& x, const Tensor& targets) const {
    return at::cross_entropy_loss(logits(x.flatten(0, 1)), targets.reshape({-1}));
}

}  // namespace stages::torch_backend
