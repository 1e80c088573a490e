#include "stages/torch/llama_model.hpp"

#include "stages/torch/mixture.hpp"
#include "swarm/base/check.hpp"
#include "swarm/run/training/boundary_maps.hpp"
#include "swarm/run/training/exits.hpp"
#include "swarm/run/training/expert_stages.hpp"
#include "swarm/run/training/mixture.hpp"
#include "swarm/run/training/paths.hpp"
#include "swarm/run/training/trained_part.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/constant_pad_nd.h>
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
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace stages::torch_backend {

using at::Tensor;
using swarm::run::all_tensors;
using swarm::run::LayerPath;
using swarm::run::ModelConfig;
using swarm::run::ModelKind;
using swarm::run::PlacedTensor;
using swarm::run::RunConfig;
using swarm::run::StageLayout;
using swarm::run::TensorSpec;

namespace {

constexpr double kTwoPi = 6.283185307179586;

void add_feed_forward(
    const ModelConfig& config, const std::string& layer, std::vector<TensorSpec>& own
) {
    if (has_experts(config.kind)) {
        own.push_back({layer + "mlp_norm", {config.width}});
        const auto mixture = swarm::run::mixture_tensors(config, layer);
        own.insert(own.end(), mixture.begin(), mixture.end());
        return;
    }
    own.push_back({layer + "mlp.w1", {config.ffn_width, config.width}});
    own.push_back({layer + "mlp.w2", {config.width, config.ffn_width}});
    own.push_back({layer + "mlp.w3", {config.ffn_width, config.width}});
    own.push_back({layer + "mlp_norm", {config.width}});
}

std::vector<TensorSpec> expected_tensors(const RunConfig& run, const StageLayout& layout) {
    const ModelConfig& config = run.model;
    const std::uint32_t width = config.width;
    const std::uint32_t head_width = config.values_per_head();
    const std::uint32_t query_width = head_width * config.heads;
    const std::uint32_t kv_width = head_width * config.kv_heads;
    std::vector<TensorSpec> expected;
    if (layout.has_embedding) {
        expected.push_back({"embed.weight", {config.vocabulary, width}});
    }
    if (auto table = swarm::run::token_table(run, layout.stage)) {
        expected.push_back(std::move(*table));
    }
    if (auto map = swarm::run::map_up(run, layout.stage)) {
        expected.push_back(std::move(*map));
    }
    for (std::uint32_t i = 0; i < layout.layers; ++i) {
        const std::string layer = "layers." + std::to_string(layout.first_layer + i) + ".";
        std::vector<TensorSpec> own;
        if (config.kind == ModelKind::Qwen2) {
            own.push_back({layer + "attn.bk", {kv_width}});
            own.push_back({layer + "attn.bq", {query_width}});
            own.push_back({layer + "attn.bv", {kv_width}});
        } else if (has_query_key_norms(config.kind)) {
            own.push_back({layer + "attn.k_norm", {head_width}});
            own.push_back({layer + "attn.q_norm", {head_width}});
        }
        own.push_back({layer + "attn.wk", {kv_width, width}});
        own.push_back({layer + "attn.wo", {width, query_width}});
        own.push_back({layer + "attn.wq", {query_width, width}});
        own.push_back({layer + "attn.wv", {kv_width, width}});
        own.push_back({layer + "attn_norm", {width}});
        add_feed_forward(config, layer, own);
        swarm::run::add_adapters(run.lora, own);
        std::erase_if(own, [&](const TensorSpec& tensor) {
            return layout.part.parts > 1 &&
                   !swarm::run::is_in_part(config, layout.part, tensor.name);
        });
        expected.insert(expected.end(), own.begin(), own.end());
    }
    if (auto map = swarm::run::map_down(run, layout.stage)) {
        expected.push_back(std::move(*map));
    }
    const auto copy = swarm::run::exit_head(run, layout);
    expected.insert(expected.end(), copy.begin(), copy.end());
    if (layout.has_head) {
        expected.push_back({"head.norm", {width}});
        expected.push_back({"head.weight", {config.vocabulary, width}});
    }
    return expected;
}

swarm::Error misfit(std::string detail) {
    return {swarm::ErrorCode::Mismatch, swarm::Reaction::Reject, std::move(detail)};
}

std::string describe(const TensorSpec& tensor) {
    std::string text = tensor.name + " (";
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
        text += (i == 0 ? "" : ", ") + std::to_string(tensor.shape[i]);
    }
    return text + ")";
}

/// Changes the frequencies of rotary positions, fp64, as the run file says. Llama 3 divides those
/// of waves that are longer than its first texts, keeps those of short waves, and goes from one to
/// the other along the number of waves in such a text.
Tensor scaled(const Tensor& frequencies, const ModelConfig& config) {
    if (config.rope_factor == 1) {
        return frequencies;
    }
    const Tensor divided = frequencies / config.rope_factor;
    if (config.rope_original_context == 0) {
        return divided;
    }
    const Tensor waves = frequencies * (config.rope_original_context / kTwoPi);
    const Tensor kept = at::clamp(
        (waves - config.rope_low_frequency) /
            (config.rope_high_frequency - config.rope_low_frequency),
        0,
        1
    );
    return divided * (1 - kept) + frequencies * kept;
}

/// Rows that are filled up with zeros, as they cross between parts of a layer.
Tensor filled(const Tensor& rows) {
    const auto width = static_cast<std::uint32_t>(rows.size(1));
    return at::constant_pad_nd(rows, {0, swarm::run::filled_up(width) - width});
}

}  // namespace

swarm::Result<> check_layout(const RunConfig& run, const StageLayout& layout) {
    const ModelConfig& config = run.model;
    if (config.heads == 0 || config.kv_heads == 0 ||
        (config.head_width == 0 && config.width % config.heads != 0) ||
        config.heads % config.kv_heads != 0 || config.values_per_head() % 2 != 0) {
        return misfit(
            "width " + std::to_string(config.width) + " does not split into " +
            std::to_string(config.heads) + " heads of even width that share " +
            std::to_string(config.kv_heads) + " key/value heads; change model.heads"
        );
    }
    const std::vector<TensorSpec> expected = expected_tensors(run, layout);
    const std::vector<PlacedTensor> found = all_tensors(layout);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        if (i >= found.size() || *found[i].spec != expected[i]) {
            return misfit(
                "the stage's layout needs " + describe(expected[i]) + " as tensor " +
                std::to_string(i) + " and has " +
                (i < found.size() ? describe(*found[i].spec) : "none")
            );
        }
    }
    if (found.size() > expected.size()) {
        return misfit(
            "the stage's layout has a tensor that a Llama model lacks: " +
            describe(*found[expected.size()].spec)
        );
    }
    return {};
}

LlamaModel::LlamaModel(const RunConfig& run, const StageLayout& layout, at::Device device)
    : config_(run.model),
      part_(layout.part),
      experts_(swarm::run::experts_of(run.model, layout.part)),
      adapter_scale_(run.lora.rank > 0 ? swarm::run::adapter_scale(run.lora) : 0) {
    const ModelConfig& config = config_;
    for (std::uint32_t i = 0; i < layout.layers; ++i) {
        layers_.push_back("layers." + std::to_string(layout.first_layer + i) + ".");
    }
    for (std::size_t i = 0; i < layout.tensors.size(); ++i) {
        index_.emplace(layout.tensors[i].name, Place{false, i});
    }
    for (std::size_t i = 0; i < layout.frozen.size(); ++i) {
        index_.emplace(layout.frozen[i].name, Place{true, i});
    }
    if (const auto map = swarm::run::map_up(run, layout.stage)) {
        map_up_ = map->name;
        table_ = swarm::run::token_table(run, layout.stage)->name;
    }
    if (const auto map = swarm::run::map_down(run, layout.stage)) {
        map_down_ = map->name;
    }
    detour_ = swarm::run::detour_of(run, layout);
    for (const std::uint32_t exit : swarm::run::exits_of(run, layout)) {
        exits_.push_back(layers_[exit - 1 - layout.first_layer]);
    }
    head_ = swarm::run::head_prefix(layout);
    // Angles are made in double: float would lose digits of position x frequency in long contexts.
    const std::int64_t half = config.values_per_head() / 2;
    const at::TensorOptions wide(at::kDouble);
    const Tensor exponents = at::arange(half, wide) * (-1.0 / static_cast<double>(half));
    const Tensor positions = at::arange(static_cast<std::int64_t>(config.context), wide);
    const Tensor frequencies = scaled(at::pow(config.rope_base, exponents), config);
    const Tensor angles = at::outer(positions, frequencies).unsqueeze(1);
    cosines_ = at::cos(angles).to(at::kFloat).to(device);
    sines_ = at::sin(angles).to(at::kFloat).to(device);
}

void LlamaModel::set_weights(std::vector<Tensor> weights) {
    SWARM_ASSERT(weights.size() + frozen_.size() == index_.size());
    weights_ = std::move(weights);
}

void LlamaModel::set_frozen(std::vector<Tensor> weights) {
    frozen_ = std::move(weights);
}

Tensor LlamaModel::linear(const Tensor& x, const std::string& matrix, const Tensor& bias) const {
    const Tensor y = at::linear(x, weight(matrix), bias);
    if (adapter_scale_ == 0 || !index_.contains(matrix + swarm::run::kAdapterIn)) {
        return y;
    }
    const Tensor inner = at::linear(x, weight(matrix + swarm::run::kAdapterIn));
    return y + at::linear(inner, weight(matrix + swarm::run::kAdapterOut)) * adapter_scale_;
}

const Tensor& LlamaModel::weight(std::string_view name) const {
    const auto found = index_.find(name);
    SWARM_ASSERT(found != index_.end());
    return (found->second.frozen ? frozen_ : weights_)[found->second.index];
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

Tensor LlamaModel::project(
    const Tensor& x, const std::string& layer, const char* which, std::int64_t heads
) const {
    const Tensor bias =
        config_.kind == ModelKind::Qwen2 ? weight(layer + "attn.b" + which) : Tensor();
    const Tensor rows = linear(x, layer + "attn.w" + which, bias);
    const Tensor split = rows.view({x.size(0), x.size(1), heads, rows.size(2) / heads});
    const bool has_norm = has_query_key_norms(config_.kind) && *which != 'v';
    return has_norm ? norm(split, weight(layer + "attn." + which + "_norm")) : split;
}

Tensor LlamaModel::attention(const Tensor& x, const std::string& layer, const Tensor& mask) const {
    const std::int64_t batch = x.size(0);
    const std::int64_t length = x.size(1);
    const std::int64_t heads = config_.heads;
    const std::int64_t kv_heads = config_.kv_heads;
    const std::int64_t head_width = config_.values_per_head();
    // Every key/value head serves heads / kv_heads query heads in a row.
    const auto share = [&](const Tensor& kv) {
        if (heads == kv_heads) {
            return kv;
        }
        return kv.unsqueeze(3)
            .expand({batch, length, kv_heads, heads / kv_heads, head_width})
            .reshape({batch, length, heads, head_width});
    };
    const Tensor queries = rotate(project(x, layer, "q", heads));
    const Tensor keys = share(rotate(project(x, layer, "k", kv_heads)));
    const Tensor values = share(project(x, layer, "v", kv_heads));
    const Tensor mixed = at::scaled_dot_product_attention(
        queries.transpose(1, 2),
        keys.transpose(1, 2),
        values.transpose(1, 2),
        /*attn_mask=*/mask.defined() ? std::optional(mask) : std::nullopt,
        /*dropout_p=*/0.0,
        /*is_causal=*/!mask.defined()  // a mask of documents is causal itself
    );
    const Tensor joined = mixed.transpose(1, 2).reshape({batch, length, heads * head_width});
    return linear(joined, layer + "attn.wo");
}

Tensor LlamaModel::mlp(const Tensor& x, const std::string& part) const {
    const Tensor gate = at::silu(linear(x, part + "w1"));
    const Tensor up = linear(x, part + "w3");
    return linear(gate * up, part + "w2");
}

// Rows cross between the parts of a layer as training/expert_stages.hpp says.
Tensor LlamaModel::mixture(const Tensor& x, const std::string& layer, Tensor& balance) const {
    const Tensor rows = x.flatten(0, 1);
    const std::int64_t width = config_.width;
    Tensor sum = rows;
    Tensor inner;
    Tensor shares;
    if (part_.is_first()) {
        inner = norm(rows, weight(layer + "mlp_norm"));
        const Routed routed =
            route_rows(inner, weight(layer + "moe.router"), config_.experts_per_token);
        shares = routed.shares;
        balance = balance.defined() ? balance + routed.balance : routed.balance;
    } else {
        sum = rows.narrow(1, 0, width).clone();  // no view of what is the caller's
        inner = rows.narrow(1, swarm::run::filled_up(config_.width), width);
        shares = rows.narrow(1, 2 * swarm::run::filled_up(config_.width), config_.experts);
        shares = largest_shares(shares, config_.experts_per_token);
    }
    const auto expert = [&](std::int64_t index, const Tensor& own) {
        return mlp(own, layer + "moe." + std::to_string(index) + ".");
    };
    sum = add_experts(std::move(sum), inner, shares, experts_, expert);
    if (!part_.is_last()) {
        sum = at::cat({filled(sum), filled(inner), filled(shares)}, 1);
    }
    return sum.view({x.size(0), x.size(1), sum.size(1)});
}

Tensor LlamaModel::embed(const Tensor& ids) const {
    return at::embedding(weight("embed.weight"), ids);
}

LlamaModel::Layers LlamaModel::run_layers(
    Tensor x, const Tensor& ids, const Tensor& mask, LayerPath path
) const {
    Tensor balance;
    std::vector<Tensor> exits;
    if (!map_up_.empty()) {
        x = at::linear(x, weight(map_up_)) + at::embedding(weight(table_), ids);
    }
    if (path == LayerPath::Skipped) {
        x = x.clone();  // a stage may skip all of its layers, and its input is the caller's
    }
    for (const std::uint32_t index : swarm::run::layers_on(path, layers_.size(), detour_)) {
        const std::string& layer = layers_[index];
        for (std::uint32_t use = 0; use < config_.repeat; ++use) {
            if (part_.is_first()) {
                x = x + attention(norm(x, weight(layer + "attn_norm")), layer, mask);
            }
            x = config_.experts > 0 ? mixture(x, layer, balance)
                                    : x + mlp(norm(x, weight(layer + "mlp_norm")), layer + "mlp.");
        }
        if (std::ranges::find(exits_, layer) != exits_.end()) {
            exits.push_back(x);
        }
    }
    if (!map_down_.empty()) {
        x = at::linear(x, weight(map_down_));
    }
    if (balance.defined()) {
        balance = balance / (static_cast<double>(config_.layers) * config_.repeat);
    }
    return {x, balance, std::move(exits)};
}

Tensor LlamaModel::logits(const Tensor& x) const {
    return at::linear(norm(x, weight(head_ + "norm")), weight(head_ + "weight"));
}

// The mean of no targets would be 0 / 0; their sum is 0, with a gradient of zeros.
Tensor LlamaModel::loss(const Tensor& x, const Tensor& targets, Counted counted) const {
    const auto reduction = counted == Counted::Some ? at::Reduction::Mean : at::Reduction::Sum;
    return at::cross_entropy_loss(
        logits(x.flatten(0, 1)), targets.reshape({-1}), /*weight=*/{}, reduction, kNoTarget
    );
}

}  // namespace stages::torch_backend
