#include "stacking/models/training/trained_model.hpp"

#include "stacking/models/families/family.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace stacking::models {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;
using swarm::run::ModelConfig;
using swarm::run::ModelKind;

namespace {

constexpr const char* kTrainable = "llama, mistral, qwen2, qwen3, mixtral and qwen3_moe";

Error not_trained(const Architecture& architecture, const std::string& what) {
    return {
        ErrorCode::Unsupported,
        Reaction::Reject,
        "a model of the family " + std::string(architecture.traits.family) + what};
}

/// The traits that every model of the kind has.
Traits traits_of(ModelKind kind) {
    Traits traits;
    traits.family = find_family(to_text(kind))->name;
    traits.query_key_value_bias = kind == ModelKind::Qwen2;
    const bool has_norms = has_query_key_norms(kind);
    traits.query_key_norm = has_norms ? QueryKeyNorm::Heads : QueryKeyNorm::None;
    traits.experts.renormalise = has_experts(kind);
    return traits;
}

/// A kind with experts has none that computes all tokens; the other kinds have none.
bool has_experts_of(ModelKind kind, const Experts& experts) {
    return has_experts(kind) ? experts.count > 0 && experts.renormalise && experts.shared_width == 0
                             : experts.count == 0;
}

/// Names the first trait that stages/torch does not compute for this kind; null: there is none.
const char* what_is_missing(const Architecture& architecture, ModelKind kind) {
    const Traits& traits = architecture.traits;
    const Traits usual = traits_of(kind);
    const auto turns = [](const LayerAttention& layer) { return layer.rope == RopeUse::Main; };
    const bool known_rope = traits.rope.kind == RopeScaling::Kind::None ||
                            traits.rope.kind == RopeScaling::Kind::Linear ||
                            traits.rope.kind == RopeScaling::Kind::Llama3;
    const std::pair<bool, const char*> rules[] = {
        {has_experts_of(kind, traits.experts), "experts"},
        {traits.query_key_value_bias == usual.query_key_value_bias,
         "biases of queries, keys and values"},
        {traits.bottlenecks.layers.empty(), "bottlenecks"},
        {!traits.attention_out_bias, "a bias of the attention's output"},
        {traits.query_key_norm == usual.query_key_norm, "norms of queries and keys"},
        {traits.norms == NormPlace::Before, "norms after a part"},
        {traits.activation == Activation::Silu, "another activation than SiLU"},
        {architecture.rotary_width() == architecture.head_width(), "partly rotated heads"},
        {known_rope && traits.rope.magnitude == 1, "this scaling of rotary positions"},
        {std::ranges::all_of(traits.layers, turns), "layers without rotary positions"},
        {traits.attention_scale == 0, "an attention scale"},
        {traits.attention_soft_cap == 0 && traits.logit_soft_cap == 0, "soft caps"},
        {traits.embedding_scale == 1 && traits.residual_scale == 1 && traits.logit_scale == 1,
         "scales of embeddings, parts or logits"},
    };
    for (const auto& [holds, name] : rules) {
        if (!holds) {
            return name;
        }
    }
    return nullptr;
}

/// The longest context in which no layer's window hides a position.
std::uint32_t context_without_windows(const Architecture& architecture) {
    std::uint32_t context = architecture.model.context;
    for (const LayerAttention& layer : architecture.traits.layers) {
        context = layer.window > 0 ? std::min(context, layer.window) : context;
    }
    return context;
}

void take_rope(const RopeScaling& rope, ModelConfig& model) {
    const ModelConfig usual;
    const bool by_waves = rope.kind == RopeScaling::Kind::Llama3;
    model.rope_factor = rope.kind == RopeScaling::Kind::None ? usual.rope_factor : rope.factor;
    model.rope_original_context = by_waves ? rope.original_context : 0;
    model.rope_low_frequency = by_waves ? rope.low_frequency_factor : usual.rope_low_frequency;
    model.rope_high_frequency = by_waves ? rope.high_frequency_factor : usual.rope_high_frequency;
}

RopeScaling rope_of(const ModelConfig& model) {
    RopeScaling rope;
    if (model.rope_original_context > 0) {
        rope.kind = RopeScaling::Kind::Llama3;
        rope.factor = model.rope_factor;
        rope.low_frequency_factor = model.rope_low_frequency;
        rope.high_frequency_factor = model.rope_high_frequency;
        rope.original_context = model.rope_original_context;
    } else if (model.rope_factor != 1) {
        rope.kind = RopeScaling::Kind::Linear;
        rope.factor = model.rope_factor;
    }
    return rope;
}

}  // namespace

Result<ModelConfig> as_trained(const Architecture& architecture) {
    const std::optional<ModelKind> kind =
        swarm::run::find_choice<ModelKind>(architecture.traits.family);
    if (!kind || *kind == ModelKind::Oracle) {
        return not_trained(
            architecture, " cannot be trained; those of " + std::string(kTrainable) + " can"
        );
    }
    if (const char* const missing = what_is_missing(architecture, *kind)) {
        return not_trained(
            architecture, std::string(" with ") + missing + " cannot be trained yet"
        );
    }
    ModelConfig model = architecture.model;
    model.kind = *kind;
    if (has_experts(*kind)) {
        model.experts = architecture.traits.experts.count;
        model.experts_per_token = architecture.traits.experts.chosen;
    }
    const bool usual_heads = architecture.head_width() * model.heads == model.width;
    model.head_width = usual_heads ? 0 : architecture.head_width();
    take_rope(architecture.traits.rope, model);
    model.tied_embeddings = architecture.tied_embeddings;
    model.begin_tokens.clear();
    if (architecture.begin_token) {
        model.begin_tokens.push_back(*architecture.begin_token);
    }
    model.end_tokens = architecture.end_tokens;
    model.context = context_without_windows(architecture);
    model.max_context = model.context;
    return model;
}

Architecture as_served(const ModelConfig& model) {
    Architecture architecture;
    architecture.traits = traits_of(model.kind);
    if (has_experts(model.kind)) {
        architecture.traits.experts.count = model.experts;
        architecture.traits.experts.chosen = model.experts_per_token;
    }
    architecture.traits.head_width = model.head_width;
    architecture.traits.rope = rope_of(model);
    architecture.tied_embeddings = model.tied_embeddings;
    if (!model.begin_tokens.empty()) {
        architecture.begin_token = model.begin_tokens.front();
    }
    architecture.end_tokens = model.end_tokens;
    ModelConfig& shape = architecture.model;
    shape.layers = model.layers * model.repeat;
    shape.width = model.width;
    shape.heads = model.heads;
    shape.kv_heads = model.kv_heads;
    shape.ffn_width = model.ffn_width;
    shape.vocabulary = model.vocabulary;
    shape.rope_base = model.rope_base;
    shape.norm_epsilon = model.norm_epsilon;
    shape.context = std::max(model.context, model.max_context);
    return architecture;
}

}  // namespace stacking::models
