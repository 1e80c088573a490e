#include "stacking/models/averages/model_difference.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

namespace stacking::models {
namespace {

/// A name and a text of its value; equal values have equal texts.
using Fact = std::pair<std::string, std::string>;

/// Nine digits tell any two fp32 numbers apart.
std::string as_fp32(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", static_cast<double>(static_cast<float>(number)));
    return text;
}

std::string rope_text(const RopeScaling& rope) {
    using Kind = RopeScaling::Kind;
    const std::string magnitude = rope.magnitude == 1 ? "" : " x " + as_fp32(rope.magnitude);
    const std::string factor = " by " + as_fp32(rope.factor);
    const std::string from = " from " + std::to_string(rope.original_context);
    switch (rope.kind) {
        case Kind::None:
            return "none" + magnitude;
        case Kind::Linear:
            return (rope.factor == 1 ? "none" : "linear" + factor) + magnitude;
        case Kind::Llama3:
            return "llama3" + factor + from + ", frequencies " +
                   as_fp32(rope.low_frequency_factor) + " to " +
                   as_fp32(rope.high_frequency_factor) + magnitude;
        case Kind::Yarn:
            return "yarn" + factor + from + ", betas " + as_fp32(rope.beta_fast) + " and " +
                   as_fp32(rope.beta_slow) + (rope.truncate ? "" : ", not truncated") + magnitude;
        case Kind::Divisors:
            return "a table" + magnitude;  // its numbers are compared on their own
    }
    return "";
}

const char* to_text(NormPlace place) {
    return place == NormPlace::Before ? "before" : place == NormPlace::Around ? "around" : "after";
}

const char* to_text(QueryKeyNorm norm) {
    return norm == QueryKeyNorm::None ? "none" : norm == QueryKeyNorm::Heads ? "heads" : "rows";
}

const char* yes_or_no(bool yes) {
    return yes ? "yes" : "no";
}

void add_shape(const Architecture& architecture, std::vector<Fact>& facts) {
    const auto& model = architecture.model;
    facts.emplace_back("family", architecture.traits.family);
    facts.emplace_back("layers", std::to_string(model.layers));
    facts.emplace_back("width", std::to_string(model.width));
    facts.emplace_back("heads", std::to_string(model.heads));
    facts.emplace_back("key/value heads", std::to_string(model.kv_heads));
    facts.emplace_back("width of a head", std::to_string(architecture.head_width()));
    facts.emplace_back("feed-forward width", std::to_string(model.ffn_width));
    facts.emplace_back("vocabulary", std::to_string(model.vocabulary));
    facts.emplace_back("head tied to the embedding", yes_or_no(architecture.tied_embeddings));
    const Experts& experts = architecture.traits.experts;
    facts.emplace_back("experts", std::to_string(experts.count));
    facts.emplace_back("experts per token", std::to_string(experts.chosen));
    facts.emplace_back("renormalised experts", yes_or_no(experts.renormalise));
    facts.emplace_back("width of the shared expert", std::to_string(experts.shared_width));
}

void add_parts(const Architecture& architecture, std::vector<Fact>& facts) {
    const Traits& traits = architecture.traits;
    facts.emplace_back("place of the norms", to_text(traits.norms));
    facts.emplace_back("norms of queries and keys", to_text(traits.query_key_norm));
    facts.emplace_back("biases of q, k and v", yes_or_no(traits.query_key_value_bias));
    facts.emplace_back("bias of the attention's output", yes_or_no(traits.attention_out_bias));
    facts.emplace_back("activation", traits.activation == Activation::Silu ? "SiLU" : "GELU");
}

void add_numbers(const Architecture& architecture, std::vector<Fact>& facts) {
    const Traits& traits = architecture.traits;
    const double usual_scale = 1 / std::sqrt(static_cast<double>(architecture.head_width()));
    const double scale = traits.attention_scale > 0 ? traits.attention_scale : usual_scale;
    facts.emplace_back("norm epsilon", as_fp32(architecture.model.norm_epsilon));
    facts.emplace_back("rotated dimensions", std::to_string(architecture.rotary_width()));
    facts.emplace_back("rope base", as_fp32(architecture.model.rope_base));
    facts.emplace_back("local rope base", as_fp32(traits.local_rope_base));
    facts.emplace_back("rope scaling", rope_text(traits.rope));
    facts.emplace_back("attention scale", as_fp32(scale));
    facts.emplace_back("soft cap of attention", as_fp32(traits.attention_soft_cap));
    facts.emplace_back("soft cap of logits", as_fp32(traits.logit_soft_cap));
    facts.emplace_back("embedding scale", as_fp32(traits.embedding_scale));
    facts.emplace_back("residual scale", as_fp32(traits.residual_scale));
    facts.emplace_back("logit scale", as_fp32(traits.logit_scale));
}

/// `positions`: a window of so many, or more, hides nothing.
void add_layers(
    const Architecture& architecture, std::uint32_t positions, std::vector<Fact>& facts
) {
    for (std::uint32_t layer = 0; layer < architecture.model.layers; ++layer) {
        const LayerAttention attention = architecture.attention_of(layer);
        const bool windowed = attention.window > 0 && attention.window < positions;
        const char* const rope = attention.rope == RopeUse::None   ? "no rotation"
                                 : attention.rope == RopeUse::Main ? "the main rotation"
                                                                   : "the local rotation";
        facts.emplace_back(
            "attention of layer " + std::to_string(layer),
            (windowed ? "a window of " + std::to_string(attention.window) + ", " : "") +
                std::string(rope)
        );
    }
}

std::vector<Fact> facts_of(const Architecture& architecture, std::uint32_t positions) {
    std::vector<Fact> facts;
    add_shape(architecture, facts);
    add_parts(architecture, facts);
    add_numbers(architecture, facts);
    add_layers(architecture, positions, facts);
    return facts;
}

}  // namespace

std::optional<Difference> difference_of(const Architecture& first, const Architecture& second) {
    const std::uint32_t positions = std::min(first.model.context, second.model.context);
    const std::vector<Fact> left = facts_of(first, positions);
    const std::vector<Fact> right = facts_of(second, positions);
    // Layers come last, and their number before, so a fact stands at the same place in both lists.
    for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
        if (left[i].second != right[i].second) {
            return Difference{left[i].first, left[i].second, right[i].second};
        }
    }
    if (first.traits.rope.divisors != second.traits.rope.divisors) {
        return Difference{"rope scaling", "one table", "another"};
    }
    return std::nullopt;
}

}  // namespace stacking::models
