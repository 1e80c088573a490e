#include "stacking/models/tensor_names.hpp"

#include "swarm/base/check.hpp"

#include <algorithm>
#include <array>

namespace stacking::models {

namespace {

constexpr std::string_view kLayers = "layers.";

struct Names {
    std::string_view ours;
    std::string_view gguf;
    std::string_view hugging_face;
};

constexpr std::array<Names, 12> kNames = {{
    {"embed.weight", "token_embd.weight", "model.embed_tokens.weight"},
    {"head.norm", "output_norm.weight", "model.norm.weight"},
    {"head.weight", "output.weight", "lm_head.weight"},
    // These names follow "layers.17.", "blk.17." and "model.layers.17.".
    {"attn.wk", "attn_k.weight", "self_attn.k_proj.weight"},
    {"attn.wo", "attn_output.weight", "self_attn.o_proj.weight"},
    {"attn.wq", "attn_q.weight", "self_attn.q_proj.weight"},
    {"attn.wv", "attn_v.weight", "self_attn.v_proj.weight"},
    {"attn_norm", "attn_norm.weight", "input_layernorm.weight"},
    {"mlp.w1", "ffn_gate.weight", "mlp.gate_proj.weight"},
    {"mlp.w2", "ffn_down.weight", "mlp.down_proj.weight"},
    {"mlp.w3", "ffn_up.weight", "mlp.up_proj.weight"},
    {"mlp_norm", "ffn_norm.weight", "post_attention_layernorm.weight"},
}};

}  // namespace

std::string foreign_name(std::string_view ours, Naming naming) {
    const bool gguf = naming == Naming::Gguf;
    std::string prefix;
    std::string_view rest = ours;
    if (ours.starts_with(kLayers)) {
        const std::size_t dot = ours.find('.', kLayers.size());
        SWARM_ASSERT(dot != std::string_view::npos);
        prefix = gguf ? "blk." : "model.layers.";
        prefix += ours.substr(kLayers.size(), dot + 1 - kLayers.size());
        rest = ours.substr(dot + 1);
    }
    const auto* const found = std::find_if(kNames.begin(), kNames.end(), [&](const Names& names) {
        return names.ours == rest;
    });
    SWARM_ASSERT(found != kNames.end());
    return prefix + std::string(gguf ? found->gguf : found->hugging_face);
}

}  // namespace stacking::models
