// Gemma 1, 2 and 3 (text). All: norms stored less one in Hugging Face folders, an embedding scaled
// by the root of the width, GeGLU, a tied head. Gemma 2: norms around each part, soft caps, a
// window in every other layer. Gemma 3: norms of queries and keys in place of soft caps, a window
// in five of six layers, which have a rope base of their own.
#include "stacking/models/families/common.hpp"

#include <boost/json/object.hpp>

#include <cmath>

namespace stacking::models {

namespace {

namespace json = boost::json;
using swarm::ErrorCode;

constexpr std::uint32_t kGemmaHeadWidth = 256;
constexpr double kQueryScalar = 256;
constexpr double kAttentionCap = 50;
constexpr double kLogitCap = 30;
constexpr double kBase3 = 1e6;
constexpr double kLocalBase3 = 10'000;
constexpr std::uint32_t kPattern3 = 6;  // one layer of so many sees everything

// llama.cpp has no key for the scale of attention; it tells the largest models by their layers.
constexpr std::uint32_t kLayersOf27B2 = 46;
constexpr std::uint32_t kLayersOf27B3 = 62;

bool slides2(std::uint32_t layer) {
    return layer % 2 == 0;
}

bool slides3(std::uint32_t layer) {
    return (layer + 1) % kPattern3 != 0;
}

void set_gemma_common(Architecture& found) {
    found.traits.embedding_scale = std::sqrt(static_cast<double>(found.model.width));
}

void set_local_ropes(Architecture& found) {
    for (LayerAttention& layer : found.traits.layers) {
        layer.rope = layer.window > 0 ? RopeUse::Local : RopeUse::Main;
    }
}

void read_gemma_scale(ConfigMembers& members, Architecture& found) {
    const double scalar = members.real("query_pre_attn_scalar", kQueryScalar);
    if (!(scalar > 0)) {
        members.fail("query_pre_attn_scalar is not above 0");
        return;
    }
    found.traits.attention_scale = 1 / std::sqrt(scalar);
}

void set_gemma_scale(std::uint32_t layers_of_27b, Architecture& found) {
    const double width = found.model.layers == layers_of_27b
                             ? static_cast<double>(found.model.width) / found.model.heads
                             : found.head_width();
    found.traits.attention_scale = 1 / std::sqrt(width);
}

/// Reads a soft cap; a null is none.
double read_cap(ConfigMembers& members, const char* key, double missing) {
    return members.has(key) ? members.real(key, 0) : missing;
}

void read_gemma1(ConfigMembers& members, Architecture& found) {
    set_gemma_common(found);
    read_biases(members, found);
    members.require("use_bidirectional_attention", false);
    // transformers obeys this name, and takes the plain one for the approximation by tanh.
    const std::string activation = members.text("hidden_act", "gelu");
    if (activation != "gelu") {
        members.require("hidden_act", "gelu_pytorch_tanh");
    }
}

void read_gemma1_keys(GgufKeys& /*keys*/, Architecture& found) {
    set_gemma_common(found);
}

void read_gemma2(ConfigMembers& members, Architecture& found) {
    set_gemma_common(found);
    found.traits.norms = NormPlace::Around;
    read_biases(members, found);
    read_gemma_scale(members, found);
    read_windows(members, slides2, found);
    found.traits.attention_soft_cap = read_cap(members, "attn_logit_softcapping", kAttentionCap);
    found.traits.logit_soft_cap = read_cap(members, "final_logit_softcapping", kLogitCap);
    members.require("use_bidirectional_attention", false);
}

void read_gemma2_keys(GgufKeys& keys, Architecture& found) {
    set_gemma_common(found);
    found.traits.norms = NormPlace::Around;
    set_gemma_scale(kLayersOf27B2, found);
    read_window_key(keys, slides2, found);
    found.traits.attention_soft_cap = keys.real_or(".attn_logit_softcapping", kAttentionCap);
    found.traits.logit_soft_cap = keys.real_or(".final_logit_softcapping", kLogitCap);
}

void read_gemma3(ConfigMembers& members, Architecture& found) {
    set_gemma_common(found);
    found.traits.norms = NormPlace::Around;
    found.traits.query_key_norm = QueryKeyNorm::Heads;
    read_biases(members, found);
    read_gemma_scale(members, found);
    if (members.find("sliding_window_pattern") != nullptr &&
        members.find("layer_types") == nullptr) {
        members.require("sliding_window_pattern", kPattern3);
    }
    read_windows(members, slides3, found);
    if (found.traits.local_rope_base == 0) {
        found.traits.local_rope_base = members.real("rope_local_base_freq", kLocalBase3);
    }
    set_local_ropes(found);
    found.traits.attention_soft_cap = members.real("attn_logit_softcapping", 0);
    found.traits.logit_soft_cap = members.real("final_logit_softcapping", 0);
    members.require("use_bidirectional_attention", false);
}

void read_gemma3_keys(GgufKeys& keys, Architecture& found) {
    set_gemma_common(found);
    found.traits.norms = NormPlace::Around;
    found.traits.query_key_norm = QueryKeyNorm::Heads;
    set_gemma_scale(kLayersOf27B3, found);
    keys.require(
        keys.count_or(".attention.sliding_window_pattern", kPattern3) == kPattern3,
        ErrorCode::Unsupported,
        "another pattern of windows than that of Gemma 3 is not supported"
    );
    found.traits.logit_soft_cap = keys.real_or(".final_logit_softcapping", 0);
    read_window_key(keys, slides3, found);
    found.traits.local_rope_base = keys.real_or(".rope.freq_base_swa", kLocalBase3);
    set_local_ropes(found);
}

void write_gemma_common(const Architecture& architecture, json::object& config) {
    write_biases(architecture, config);
    config["hidden_act"] = config["hidden_activation"];
}

std::int64_t query_scalar(const Architecture& architecture) {
    const double scale = architecture.traits.attention_scale;
    // transformers wants a whole number.
    return scale == 0 ? architecture.head_width() : std::llround(1 / (scale * scale));
}

json::value cap_or_null(double cap) {
    return cap == 0 ? json::value() : json::value(cap);
}

void write_gemma2(const Architecture& architecture, json::object& config) {
    write_gemma_common(architecture, config);
    write_windows(architecture, config);
    config["query_pre_attn_scalar"] = query_scalar(architecture);
    config["attn_logit_softcapping"] = cap_or_null(architecture.traits.attention_soft_cap);
    config["final_logit_softcapping"] = cap_or_null(architecture.traits.logit_soft_cap);
}

void write_gemma3(const Architecture& architecture, json::object& config) {
    write_gemma2(architecture, config);
    if (config["sliding_window"].is_null()) {
        config["sliding_window"] = kUsualWindow;
    }
    const double local = architecture.traits.local_rope_base;
    const json::object whole = config["rope_parameters"].as_object();
    config["rope_local_base_freq"] = local;
    config["rope_parameters"] = {
        {"full_attention", whole},
        {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", local}}}};
}

}  // namespace

constinit const Family kGemma{
    .name = "gemma",
    .class_name = "GemmaForCausalLM",
    .gguf = "gemma",
    .tied_embeddings = true,
    .head_width = kGemmaHeadWidth,
    .kv_heads = 16,
    .context = 8192,
    .begin_token = 2,
    .end_token = 1,
    .activation_key = "hidden_activation",
    .activation = Activation::GeluTanh,
    .norms_less_one = true,
    .read_config = read_gemma1,
    .read_keys = read_gemma1_keys,
    .write_config = write_gemma_common};

constinit const Family kGemma2{
    .name = "gemma2",
    .class_name = "Gemma2ForCausalLM",
    .gguf = "gemma2",
    .tied_embeddings = true,
    .head_width = kGemmaHeadWidth,
    .kv_heads = 4,
    .context = 8192,
    .begin_token = 2,
    .end_token = 1,
    .activation_key = "hidden_activation",
    .activation = Activation::GeluTanh,
    .norms_less_one = true,
    .read_config = read_gemma2,
    .read_keys = read_gemma2_keys,
    .write_config = write_gemma2};

constinit const Family kGemma3{
    .name = "gemma3_text",
    .class_name = "Gemma3ForCausalLM",
    .gguf = "gemma3",
    .rope_base = kBase3,
    .tied_embeddings = true,
    .head_width = kGemmaHeadWidth,
    .kv_heads = 4,
    .context = 131'072,
    .begin_token = 2,
    .end_token = 1,
    .two_rotations = true,
    .activation_key = "hidden_activation",
    .activation = Activation::GeluTanh,
    .norms_less_one = true,
    .read_config = read_gemma3,
    .read_keys = read_gemma3_keys,
    .write_config = write_gemma3};

}  // namespace stacking::models
