#include "stacking/models/gguf_architecture.hpp"

#include "stacking/models/families/family.hpp"
#include "stacking/models/families/gguf_keys.hpp"
#include "stacking/models/limits.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace stacking::models {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;
using swarm::run::ModelConfig;
using Kind = RopeScaling::Kind;
using Files = std::span<const std::unique_ptr<ByteSource>>;

namespace {

constexpr std::string_view kTable = "rope_freqs.weight";
constexpr std::string_view kShortTable = "rope_factors_short.weight";
constexpr std::string_view kLongTable = "rope_factors_long.weight";

/// The rope base of a file that names none, whatever its architecture.
constexpr double kDefaultBase = 10'000;

/// End of a text, of a turn and of a message.
constexpr std::array kEndKeys{
    "tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"};

void read_shape(GgufKeys& keys, Architecture& found) {
    ModelConfig& model = found.model;
    model.layers = keys.count(".block_count");
    model.width = keys.count(".embedding_length");
    model.ffn_width = keys.count_or(".feed_forward_length", 0);
    model.heads = keys.count(".attention.head_count");
    model.kv_heads = keys.count_or(".attention.head_count_kv", model.heads);
    model.context = keys.count(".context_length");
    model.norm_epsilon = keys.real(".attention.layer_norm_rms_epsilon");
    const GgufTensor* const embedding = keys.find_tensor("token_embd.weight");
    keys.require(
        embedding != nullptr, ErrorCode::Malformed, "the tensor token_embd.weight is missing"
    );
    model.vocabulary = embedding == nullptr ? 0 : embedding->shape.front();
    found.tied_embeddings = keys.find_tensor("output.weight") == nullptr;
}

void read_heads(GgufKeys& keys, Architecture& found) {
    const ModelConfig& model = found.model;
    const std::uint32_t usual = model.width / model.heads;
    const std::uint32_t width = keys.count_or(".attention.key_length", usual);
    keys.require(
        keys.count_or(".attention.value_length", usual) == width,
        ErrorCode::Unsupported,
        "values of another width than keys are not supported"
    );
    keys.require(width > 0, ErrorCode::Malformed, "heads without a width");
    found.traits.head_width = width == usual && model.width % model.heads == 0 ? 0 : width;
    const std::uint32_t rotated = keys.count_or(".rope.dimension_count", width);
    keys.require(rotated > 0, ErrorCode::Malformed, "no dimension of a head is rotated");
    found.traits.rotary_width = rotated == width ? 0 : rotated;
}

void read_rope(GgufKeys& keys, Architecture& found) {
    found.model.rope_base = keys.real_or(".rope.freq_base", kDefaultBase);
    for (const char* const key :
         {".rope.scale_linear",
          ".rope.scaling.alpha",
          ".rope.scaling.yarn_ext_factor",
          ".rope.scaling.yarn_attn_factor",
          ".rope.scaling.yarn_log_multiplier",
          ".rope.dimension_sections"}) {
        keys.require(
            !keys.has(key), ErrorCode::Unsupported, std::string("the key ") + key + " is not read"
        );
    }
    RopeScaling& rope = found.traits.rope;
    // A factor without a type is linear, as in llama.cpp.
    const std::string type =
        keys.text_or(".rope.scaling.type", keys.has(".rope.scaling.factor") ? "linear" : "none");
    const std::uint32_t original =
        keys.count_or(".rope.scaling.original_context_length", found.model.context);
    const double factor = keys.real_or(".rope.scaling.factor", 1);
    if (type == "none" || type == "linear") {
        keys.require(
            keys.real_or(".rope.scaling.attn_factor", 1) == 1,
            ErrorCode::Unsupported,
            "a factor of linear rotations is not supported"
        );
    }
    if (type == "linear" && factor != 1) {
        rope = {.kind = Kind::Linear, .factor = factor};
    } else if (type == "yarn") {
        rope.kind = Kind::Yarn;
        rope.factor = factor;
        rope.original_context = original;
        rope.beta_fast = keys.real_or(".rope.scaling.yarn_beta_fast", rope.beta_fast);
        rope.beta_slow = keys.real_or(".rope.scaling.yarn_beta_slow", rope.beta_slow);
        const double by_factor = factor > 1 ? 0.1 * std::log(factor) + 1 : 1;
        rope.magnitude = by_factor * keys.real_or(".rope.scaling.attn_factor", 1);
    } else if (type == "longrope") {
        rope.magnitude = keys.real_or(".rope.scaling.attn_factor", 1);
        rope.original_context = original;
        found.model.context = std::min(found.model.context, original);
    } else {
        keys.require(
            type == "none" || type == "linear",
            ErrorCode::Unsupported,
            "rope scaling \"" + printable(type) + "\" is not supported"
        );
    }
}

void read_biases(const GgufKeys& keys, const Family& family, Architecture& found) {
    const bool biased = keys.find_tensor("blk.0.attn_q.bias") != nullptr;
    found.traits.query_key_value_bias = biased;
    found.traits.attention_out_bias = keys.find_tensor("blk.0.attn_output.bias") != nullptr;
    if (biased && family.gguf_interleaves) {
        found.traits.query_key_value_bias = false;  // then the tensor has no use, and is refused
    }
}

void read_experts(GgufKeys& keys, Architecture& found) {
    Experts& experts = found.traits.experts;
    experts.count = keys.count_or(".expert_count", 0);
    if (experts.count == 0) {
        return;
    }
    experts.chosen = keys.count(".expert_used_count");
    experts.shared_width = keys.count_or(".expert_shared_feed_forward_length", 0);
    found.model.ffn_width = keys.count_or(".expert_feed_forward_length", found.model.ffn_width);
    const double scale = keys.real_or(".expert_weights_scale", 1);
    const bool no_scale = scale == 0 || scale == 1;  // a zero counts as absent
    keys.require(
        keys.count_or(".leading_dense_block_count", 0) == 0 &&
            keys.count_or(".expert_group_count", 1) <= 1 &&
            keys.count_or(".expert_gating_func", 1) == 1 && no_scale,
        ErrorCode::Unsupported,
        "this choice of experts is not supported"
    );
}

void read_tokens(GgufKeys& keys, Architecture& found) {
    if (keys.has("tokenizer.ggml.bos_token_id")) {
        found.begin_token = keys.count("tokenizer.ggml.bos_token_id");
    }
    for (const char* const key : kEndKeys) {
        if (!keys.has(key)) {
            continue;
        }
        const std::uint32_t token = keys.count(key);
        if (std::ranges::find(found.end_tokens, token) == found.end_tokens.end()) {
            found.end_tokens.push_back(token);
        }
    }
}

/// Refuses a window that the family's reader has not given to any layer.
void check_windows(GgufKeys& keys, const Architecture& found) {
    const std::uint32_t window = keys.count_or(".attention.sliding_window", 0);
    const bool read = std::ranges::any_of(found.traits.layers, [](const LayerAttention& layer) {
        return layer.window > 0;
    });
    keys.require(
        window == 0 || window >= found.model.context || read,
        ErrorCode::Unsupported,
        "a window of " + std::to_string(window) + " positions is not supported"
    );
}

/// Reads the table of divisors that the file has, if it has one.
Result<> read_rope_table(const GgufKeys& keys, Files files, Architecture& found) {
    const GgufTensor* const table = keys.find_tensor(kTable);
    const GgufTensor* const short_table = keys.find_tensor(kShortTable);
    const GgufTensor* const tensor = table != nullptr ? table : short_table;
    if (tensor == nullptr) {
        return {};
    }
    if (tensor->type != WeightType::F32 || tensor->shape.size() != 1 ||
        tensor->shape.front() > kHeadWidthMax / 2) {
        return Error{
            ErrorCode::Malformed, Reaction::Reject, "GGUF: " + tensor->name + " is no rope table"};
    }
    RopeScaling& rope = found.traits.rope;
    if (rope.kind != Kind::None) {
        return Error{
            ErrorCode::Unsupported,
            Reaction::Reject,
            "GGUF: " + tensor->name + " beside another rope scaling is not supported"};
    }
    rope.kind = Kind::Divisors;
    rope.divisors.resize(tensor->shape.front());
    return files[tensor->file]->read(
        tensor->offset, std::as_writable_bytes(std::span(rope.divisors))
    );
}

}  // namespace

bool is_rope_table(std::string_view tensor) {
    return tensor == kTable || tensor == kShortTable || tensor == kLongTable;
}

Result<Architecture> read_gguf_architecture(const GgufHeader& header, Files files) {
    const auto* const named = header.find<std::string>("general.architecture");
    const std::string name = named == nullptr ? "" : *named;
    GgufKeys keys(header, name);
    const Family* const family = find_gguf_family(name, keys.count_or(".expert_count", 0) > 0);
    if (family == nullptr) {
        return Error{
            ErrorCode::Unsupported,
            Reaction::Reject,
            "GGUF: the architecture is \"" + printable(name) +
                "\"; these can be read: " + family_names(true)};
    }
    Architecture found;
    const auto* const called = header.find<std::string>("general.name");
    found.name = called == nullptr ? "unnamed" : printable(*called);
    found.traits.family = family->name;
    found.traits.activation = family->activation;
    read_shape(keys, found);
    read_experts(keys, found);
    if (keys.fault()) {
        return *keys.fault();
    }
    SWARM_TRY(check_bounds(found));
    read_heads(keys, found);
    read_rope(keys, found);
    keys.require(
        keys.boolean_or(".attention.causal", true),
        ErrorCode::Unsupported,
        "a model whose rows see later rows is not supported"
    );
    read_biases(keys, *family, found);
    read_tokens(keys, found);
    if (!keys.fault()) {
        family->read_keys(keys, found);
        check_windows(keys, found);
    }
    if (keys.fault()) {
        return *keys.fault();
    }
    SWARM_TRY(read_rope_table(keys, files, found));
    return found;
}

}  // namespace stacking::models
