#include "stacking/models/tensor_names.hpp"

#include "stacking/models/families/family.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace stacking::models {

namespace {

constexpr std::string_view kLayers = "layers.";
constexpr std::string_view kExperts = "moe.";

struct Names {
    std::string_view ours;
    std::string_view gguf;
    std::string_view hugging_face;
};

constexpr Names kOfModel[] = {
    {"embed.weight", "token_embd.weight", "model.embed_tokens.weight"},
    {"head.norm", "output_norm.weight", "model.norm.weight"},
    {"head.weight", "output.weight", "lm_head.weight"},
};

/// These names follow "layers.17.", "blk.17." and "model.layers.17.".
constexpr Names kOfLayer[] = {
    {"attn.bk", "attn_k.bias", "self_attn.k_proj.bias"},
    {"attn.bo", "attn_output.bias", "self_attn.o_proj.bias"},
    {"attn.bq", "attn_q.bias", "self_attn.q_proj.bias"},
    {"attn.bv", "attn_v.bias", "self_attn.v_proj.bias"},
    {"attn.k_norm", "attn_k_norm.weight", "self_attn.k_norm.weight"},
    {"attn.q_norm", "attn_q_norm.weight", "self_attn.q_norm.weight"},
    {"attn.wk", "attn_k.weight", "self_attn.k_proj.weight"},
    {"attn.wo", "attn_output.weight", "self_attn.o_proj.weight"},
    {"attn.wq", "attn_q.weight", "self_attn.q_proj.weight"},
    {"attn.wv", "attn_v.weight", "self_attn.v_proj.weight"},
    {"attn_norm", "attn_norm.weight", "input_layernorm.weight"},
    {"attn_post_norm", "post_attention_norm.weight", "post_attention_layernorm.weight"},
    {"mlp.w1", "ffn_gate.weight", "mlp.gate_proj.weight"},
    {"mlp.w2", "ffn_down.weight", "mlp.down_proj.weight"},
    {"mlp.w3", "ffn_up.weight", "mlp.up_proj.weight"},
    {"mlp_norm", "ffn_norm.weight", "pre_feedforward_layernorm.weight"},
    {"mlp_post_norm", "post_ffw_norm.weight", "post_feedforward_layernorm.weight"},
    {"moe.router", "ffn_gate_inp.weight", "mlp.gate.weight"},
    {"moe.shared.w1", "ffn_gate_shexp.weight", "mlp.shared_expert.gate_proj.weight"},
    {"moe.shared.w2", "ffn_down_shexp.weight", "mlp.shared_expert.down_proj.weight"},
    {"moe.shared.w3", "ffn_up_shexp.weight", "mlp.shared_expert.up_proj.weight"},
    {"moe.shared_gate", "ffn_gate_inp_shexp.weight", "mlp.shared_expert_gate.weight"},
};

/// These names follow the layer, and in our and Hugging Face's names the expert.
constexpr Names kOfExpert[] = {
    {"w1", "ffn_gate_exps.weight", "gate_proj.weight"},
    {"w2", "ffn_down_exps.weight", "down_proj.weight"},
    {"w3", "ffn_up_exps.weight", "up_proj.weight"},
};

template <std::size_t kCount>
std::string find(const Names (&names)[kCount], std::string_view ours, Naming naming) {
    const auto* const end = names + kCount;
    const auto* const found =
        std::find_if(names, end, [&](const Names& row) { return row.ours == ours; });
    SWARM_ASSERT(found != end);
    return std::string(naming == Naming::Gguf ? found->gguf : found->hugging_face);
}

/// A matrix that lies in one tensor with others, in this order.
struct Fused {
    std::string_view part;
    std::string_view gguf;
    std::string_view hugging_face;
    std::uint32_t rows_before;
    std::uint32_t rows;
};

/// Returns the place of a matrix that families with fused tensors do not keep on its own.
std::optional<TensorPlace> fused_place(
    std::string_view part, const Architecture& architecture, Naming naming
) {
    const std::uint32_t queries = architecture.query_width();
    const std::uint32_t kv = architecture.kv_width();
    const std::uint32_t ffn = architecture.model.ffn_width;
    constexpr std::string_view kQkv = "self_attn.qkv_proj.weight";
    constexpr std::string_view kGateUp = "mlp.gate_up_proj.weight";
    const Fused rows[] = {
        {"attn.wq", "attn_qkv.weight", kQkv, 0, queries + 2 * kv},
        {"attn.wk", "attn_qkv.weight", kQkv, queries, queries + 2 * kv},
        {"attn.wv", "attn_qkv.weight", kQkv, queries + kv, queries + 2 * kv},
        {"mlp.w1", "ffn_up.weight", kGateUp, 0, 2 * ffn},
        {"mlp.w3", "ffn_up.weight", kGateUp, ffn, 2 * ffn},
    };
    for (const Fused& row : rows) {
        if (row.part == part) {
            return TensorPlace{
                std::string(naming == Naming::Gguf ? row.gguf : row.hugging_face),
                {row.rows, architecture.model.width},
                row.rows_before};
        }
    }
    return std::nullopt;
}

TensorPlace expert_place(
    std::string_view part,  // "17.w1"
    const std::vector<std::uint32_t>& shape,
    const Architecture& architecture,
    Naming naming
) {
    const std::size_t dot = part.find('.');
    const std::string_view expert = part.substr(0, dot);
    const std::string_view matrix = part.substr(dot + 1);
    if (naming == Naming::Gguf) {
        return {
            find(kOfExpert, matrix, naming),
            {architecture.traits.experts.count, shape[0], shape[1]},
            std::stoull(std::string(expert)) * shape[0]};
    }
    const std::string of_expert = std::string(expert) + ".";
    if (family_of(architecture).experts_of_mixtral) {
        return {
            "block_sparse_moe.experts." + of_expert + std::string(matrix) + ".weight", shape, 0};
    }
    return {"mlp.experts." + of_expert + find(kOfExpert, matrix, naming), shape, 0};
}

TensorPlace place_in_layer(
    std::string_view part,
    const std::vector<std::uint32_t>& shape,
    const Architecture& architecture,
    Naming naming
) {
    const Family& family = family_of(architecture);
    if (family.fused_matrices) {
        if (auto place = fused_place(part, architecture, naming)) {
            return std::move(*place);
        }
    }
    const std::string_view of_experts = part.substr(std::min(part.size(), kExperts.size()));
    if (part.starts_with(kExperts) && of_experts.front() >= '0' && of_experts.front() <= '9') {
        return expert_place(of_experts, shape, architecture, naming);
    }
    if (naming == Naming::HuggingFace) {
        if (part == "moe.router" && family.experts_of_mixtral) {
            return {"block_sparse_moe.gate.weight", shape, 0};
        }
        // A Llama has one norm between the two parts, and its name comes from the first.
        if (part == "mlp_norm" && architecture.traits.norms == NormPlace::Before) {
            return {"post_attention_layernorm.weight", shape, 0};
        }
    }
    TensorPlace place{find(kOfLayer, part, naming), shape, 0};
    if (naming == Naming::Gguf && part == "moe.shared_gate") {
        place.whole = {shape.back()};
    }
    return place;
}

}  // namespace

TensorPlace place_of(
    const swarm::run::TensorSpec& ours, const Architecture& architecture, Naming naming
) {
    const std::string_view name = ours.name;
    if (!name.starts_with(kLayers)) {
        return {find(kOfModel, name, naming), ours.shape, 0};
    }
    const std::size_t dot = name.find('.', kLayers.size());
    SWARM_ASSERT(dot != std::string_view::npos);
    const auto index = name.substr(kLayers.size(), dot + 1 - kLayers.size());
    TensorPlace place = place_in_layer(name.substr(dot + 1), ours.shape, architecture, naming);
    place.name.insert(0, (naming == Naming::Gguf ? "blk." : "model.layers.") + std::string(index));
    return place;
}

namespace {

/// Returns the scales of the rows from the place's first one on.
swarm::Result<WeightScales> scales_from(const StoredTensor& whole, const TensorPlace& place) {
    WeightScales scales = whole.scales;
    if (scales.values.empty() || place.first_row == 0 || scales.block_rows >= whole.rows()) {
        return scales;
    }
    if (place.first_row % scales.block_rows != 0) {
        return swarm::Error{
            swarm::ErrorCode::Unsupported,
            swarm::Reaction::Reject,
            "the scales of " + place.name + " reach over two matrices"};
    }
    const std::uint64_t across =
        (whole.columns() + scales.block_columns - 1) / scales.block_columns;
    const auto before = static_cast<std::ptrdiff_t>(place.first_row / scales.block_rows * across);
    scales.values.erase(scales.values.begin(), scales.values.begin() + before);
    return scales;
}

}  // namespace

swarm::Result<StoredTensor> cut(
    const StoredTensor& whole, const TensorPlace& place, const swarm::run::TensorSpec& ours
) {
    if (whole.shape != place.whole) {
        return swarm::Error{
            swarm::ErrorCode::Malformed,
            swarm::Reaction::Reject,
            place.name + " is " + shape_text(whole.shape) +
                ", but the model's configuration makes it " + shape_text(place.whole)};
    }
    const BlockSize block = block_size(whole.type);
    StoredTensor part = whole;
    SWARM_TRY(part.scales, scales_from(whole, place));
    part.shape = ours.shape;
    part.offset += place.first_row * (whole.columns() / block.values * block.bytes);
    part.bytes = ours.elements() / block.values * block.bytes;
    return part;
}

}  // namespace stacking::models
