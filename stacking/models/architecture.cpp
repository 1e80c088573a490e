#include "stacking/models/architecture.hpp"

#include "stacking/models/limits.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"
#include "swarm/run/layer_split.hpp"
#include "swarm/run/training/boundary_maps.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace stacking::models {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;
using swarm::run::ModelConfig;
using swarm::run::StageLayout;
using swarm::run::TensorSpec;

namespace {

Error bad(ErrorCode code, std::string what) {
    return {code, Reaction::Reject, "the model's configuration: " + std::move(what)};
}

/// The conditions are written so that NaN fails, too.
Result<> check_numbers(const Architecture& architecture) {
    const ModelConfig& model = architecture.model;
    const Traits& traits = architecture.traits;
    const auto is_base = [](double base) { return base >= 1 && base <= kRopeBaseMax; };
    const auto is_scale = [](double scale) { return scale >= 1 / kScaleMax && scale <= kScaleMax; };
    const auto is_none_or_scale = [&](double scale) { return scale == 0 || is_scale(scale); };
    if (!is_base(model.rope_base) ||
        !(traits.local_rope_base == 0 || is_base(traits.local_rope_base))) {
        return bad(ErrorCode::Malformed, "the rope base is not between 1 and 1e12");
    }
    if (!(model.norm_epsilon >= 1e-12 && model.norm_epsilon <= 1)) {
        return bad(ErrorCode::Malformed, "the norm epsilon is not between 1e-12 and 1");
    }
    const RopeScaling& rope = traits.rope;
    const bool divisors_fit = rope.kind != RopeScaling::Kind::Divisors
                                  ? rope.divisors.empty()
                                  : rope.divisors.size() == architecture.rotary_width() / 2 &&
                                        std::ranges::all_of(rope.divisors, is_scale);
    const bool by_first_context =
        rope.kind == RopeScaling::Kind::Llama3 || rope.kind == RopeScaling::Kind::Yarn;
    if ((by_first_context && (rope.original_context == 0 || model.rope_base == 1)) ||
        !is_scale(rope.factor) || !is_scale(rope.low_frequency_factor) ||
        !is_scale(rope.high_frequency_factor) || !is_scale(rope.beta_fast) ||
        !is_scale(rope.beta_slow) || !is_scale(rope.magnitude) || !divisors_fit ||
        (rope.kind == RopeScaling::Kind::Llama3 &&
         !(rope.high_frequency_factor > rope.low_frequency_factor))) {
        return bad(ErrorCode::Malformed, "the numbers of the rope scaling do not fit");
    }
    // Angles stay below kContextMax: a factor below 1 makes the context longer.
    double smallest = std::min(1.0, rope.factor);
    for (const float divisor : rope.divisors) {
        smallest = std::min(smallest, static_cast<double>(divisor));
    }
    if (model.context / smallest > kContextMax) {
        return bad(ErrorCode::Unsupported, "the rope scaling turns too far within the context");
    }
    if (!is_none_or_scale(traits.attention_scale) || !is_none_or_scale(traits.attention_soft_cap) ||
        !is_none_or_scale(traits.logit_soft_cap) || !is_scale(traits.embedding_scale) ||
        !is_scale(traits.residual_scale) || !is_scale(traits.logit_scale)) {
        return bad(ErrorCode::Malformed, "a scale or a soft cap is not between 1e-6 and 1e6");
    }
    return {};
}

/// A layer has at most so many tensors beside those of its experts.
constexpr std::uint64_t kLayerTensorsMax = 24;
constexpr std::uint64_t kTensorsPerExpert = 3;

Result<> check_experts(const Architecture& architecture) {
    const Experts& experts = architecture.traits.experts;
    if (experts.count > kExpertsMax || experts.shared_width > kFfnWidthMax) {
        return bad(
            ErrorCode::Unsupported,
            std::to_string(experts.count) + " experts; " + std::to_string(kExpertsMax) +
                " can be read"
        );
    }
    const std::uint64_t tensors = kLayerTensorsMax + kTensorsPerExpert * experts.count;
    if (architecture.model.layers * tensors > kTensorsMax) {
        return bad(
            ErrorCode::Unsupported,
            std::to_string(architecture.model.layers) + " layers of " +
                std::to_string(experts.count) + " experts have too many tensors"
        );
    }
    const bool none = experts.count == 0;
    if (none ? experts.chosen != 0 || experts.shared_width != 0
             : experts.chosen == 0 || experts.chosen > experts.count) {
        return bad(
            ErrorCode::Malformed,
            std::to_string(experts.chosen) + " experts per token of " +
                std::to_string(experts.count)
        );
    }
    return {};
}

Result<> check_bottlenecks(const Architecture& architecture) {
    const auto& [width, layers] = architecture.traits.bottlenecks;
    const bool rise = std::ranges::is_sorted(layers, std::ranges::less_equal()) &&
                      std::ranges::all_of(layers, [&](std::uint32_t layer) {
                          return layer > 0 && layer < architecture.model.layers;
                      });
    if (!rise || layers.empty() != (width == 0) || width >= architecture.model.width) {
        return bad(ErrorCode::Malformed, "its bottlenecks do not fit its layers");
    }
    return {};
}

Result<> check_tokens(const Architecture& architecture) {
    const std::uint32_t vocabulary = architecture.model.vocabulary;
    if (architecture.begin_token && *architecture.begin_token >= vocabulary) {
        return bad(ErrorCode::Malformed, "the begin token is outside the vocabulary");
    }
    for (const std::uint32_t token : architecture.end_tokens) {
        if (token >= vocabulary) {
            return bad(ErrorCode::Malformed, "an end token is outside the vocabulary");
        }
    }
    return {};
}

void add_feed_forward(
    std::vector<TensorSpec>& tensors,
    const std::string& prefix,
    std::uint32_t ffn_width,
    std::uint32_t width
) {
    tensors.push_back({prefix + "w1", {ffn_width, width}});
    tensors.push_back({prefix + "w2", {width, ffn_width}});
    tensors.push_back({prefix + "w3", {ffn_width, width}});
}

void add_attention(
    std::vector<TensorSpec>& tensors, const std::string& prefix, const Architecture& architecture
) {
    const Traits& traits = architecture.traits;
    const std::uint32_t width = architecture.model.width;
    const std::uint32_t queries = architecture.query_width();
    const std::uint32_t kv = architecture.kv_width();
    tensors.push_back({prefix + "wk", {kv, width}});
    tensors.push_back({prefix + "wo", {width, queries}});
    tensors.push_back({prefix + "wq", {queries, width}});
    tensors.push_back({prefix + "wv", {kv, width}});
    if (traits.query_key_value_bias) {
        tensors.push_back({prefix + "bk", {kv}});
        tensors.push_back({prefix + "bq", {queries}});
        tensors.push_back({prefix + "bv", {kv}});
    }
    if (traits.attention_out_bias) {
        tensors.push_back({prefix + "bo", {width}});
    }
    if (traits.query_key_norm != QueryKeyNorm::None) {
        const bool heads = traits.query_key_norm == QueryKeyNorm::Heads;
        tensors.push_back({prefix + "k_norm", {heads ? architecture.head_width() : kv}});
        tensors.push_back({prefix + "q_norm", {heads ? architecture.head_width() : queries}});
    }
}

/// All tensors of one layer, in order of name.
std::vector<TensorSpec> layer_tensors(const Architecture& architecture, std::uint32_t layer) {
    const ModelConfig& model = architecture.model;
    const Traits& traits = architecture.traits;
    const std::string prefix = "layers." + std::to_string(layer) + ".";
    std::vector<TensorSpec> tensors;
    add_attention(tensors, prefix + "attn.", architecture);
    for (const char* const part : {"attn", "mlp"}) {
        if (traits.norms != NormPlace::After) {
            tensors.push_back({prefix + part + "_norm", {model.width}});
        }
        if (traits.norms != NormPlace::Before) {
            tensors.push_back({prefix + part + "_post_norm", {model.width}});
        }
    }
    if (traits.experts.count == 0) {
        add_feed_forward(tensors, prefix + "mlp.", model.ffn_width, model.width);
    } else {
        tensors.push_back({prefix + "moe.router", {traits.experts.count, model.width}});
    }
    for (std::uint32_t expert = 0; expert < traits.experts.count; ++expert) {
        const std::string of_expert = prefix + "moe." + std::to_string(expert) + ".";
        add_feed_forward(tensors, of_expert, model.ffn_width, model.width);
    }
    if (traits.experts.shared_width > 0) {
        tensors.push_back({prefix + "moe.shared_gate", {1, model.width}});
        add_feed_forward(tensors, prefix + "moe.shared.", traits.experts.shared_width, model.width);
    }
    std::ranges::sort(tensors, {}, &TensorSpec::name);
    return tensors;
}

/// The maps and the table in front of a layer; empty where there is no bottleneck.
std::vector<TensorSpec> bottleneck_tensors(const Architecture& architecture, std::uint32_t layer) {
    const auto& [width, layers] = architecture.traits.bottlenecks;
    const auto at = std::ranges::find(layers, layer);
    if (at == layers.end()) {
        return {};
    }
    const auto boundary = static_cast<std::uint32_t>(at - layers.begin());
    const ModelConfig& model = architecture.model;
    return {
        {swarm::run::boundary_tensor(boundary, swarm::run::kBoundaryDown), {width, model.width}},
        {swarm::run::boundary_tensor(boundary, swarm::run::kBoundaryTokens),
         {model.vocabulary, model.width}},
        {swarm::run::boundary_tensor(boundary, swarm::run::kBoundaryUp), {model.width, width}}};
}

/// Weights of a layer that a token is multiplied by.
double work_of(const Architecture& architecture, const std::vector<TensorSpec>& tensors) {
    const Experts& experts = architecture.traits.experts;
    double work = 0;
    for (const TensorSpec& tensor : tensors) {
        const std::size_t at = tensor.name.find(".moe.");
        const bool of_one = at != std::string::npos && tensor.name[at + 5] <= '9';
        const double share = of_one ? static_cast<double>(experts.chosen) / experts.count : 1;
        work += share * static_cast<double>(tensor.elements());
    }
    return work;
}

void append(std::vector<TensorSpec>& to, std::vector<TensorSpec> from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

Result<> check_bounds(const Architecture& architecture) {
    const ModelConfig& model = architecture.model;

    struct Bound {
        const char* name;
        std::uint64_t value;
        std::uint64_t largest;
    };

    const Bound bounds[] = {
        {"layers", model.layers, kLayersMax},
        {"width", model.width, kWidthMax},
        {"heads", model.heads, kWidthMax},
        {"key/value heads", model.kv_heads, kWidthMax},
        {"feed-forward width", model.ffn_width, kFfnWidthMax},
        {"vocabulary", model.vocabulary, kVocabularyMax},
        {"context", model.context, kContextMax},
    };
    for (const Bound& bound : bounds) {
        if (bound.value == 0 || bound.value > bound.largest) {
            return bad(
                ErrorCode::Unsupported,
                std::to_string(bound.value) + " as " + bound.name + "; 1 to " +
                    std::to_string(bound.largest) + " can be read"
            );
        }
    }
    return {};
}

Result<> check(const Architecture& architecture) {
    const ModelConfig& model = architecture.model;
    SWARM_TRY(check_bounds(architecture));
    const std::uint32_t head_width = architecture.head_width();
    const bool divides = architecture.traits.head_width > 0 || model.width % model.heads == 0;
    if (!divides || head_width == 0 || head_width % 2 != 0 || head_width > kHeadWidthMax ||
        model.heads % model.kv_heads != 0 ||
        std::uint64_t{model.heads} * head_width > kWidthMax * kHeadsToWidthMax) {
        return bad(
            ErrorCode::Malformed,
            "width " + std::to_string(model.width) + ", " + std::to_string(model.heads) +
                " heads and " + std::to_string(model.kv_heads) + " key/value heads do not fit"
        );
    }
    if (architecture.rotary_width() % 2 != 0 || architecture.rotary_width() > head_width) {
        return bad(
            ErrorCode::Malformed,
            std::to_string(architecture.rotary_width()) + " dimensions of heads of " +
                std::to_string(head_width) + " cannot be rotated"
        );
    }
    const auto& layers = architecture.traits.layers;
    if (!layers.empty() && layers.size() != model.layers) {
        return bad(
            ErrorCode::Malformed,
            "it describes the attention of " + std::to_string(layers.size()) + " layers, and has " +
                std::to_string(model.layers)
        );
    }
    SWARM_TRY(check_numbers(architecture));
    SWARM_TRY(check_experts(architecture));
    SWARM_TRY(check_bottlenecks(architecture));
    return check_tokens(architecture);
}

StageLayout layers_of(const Architecture& architecture, std::uint32_t first, std::uint32_t end) {
    const ModelConfig& model = architecture.model;
    SWARM_ASSERT(first < end && end <= model.layers);
    StageLayout stage;
    stage.stage = {first > 0 ? 1U : 0U};
    stage.first_layer = first;
    stage.layers = end - first;
    stage.has_embedding = first == 0;
    stage.has_head = end == model.layers;
    const std::vector<std::uint32_t> matrix{model.vocabulary, model.width};
    if (stage.has_embedding) {
        stage.tensors.push_back({swarm::run::kEmbeddingTensor, matrix});
    }
    for (std::uint32_t layer = first; layer < end; ++layer) {
        append(stage.tensors, bottleneck_tensors(architecture, layer));
        append(stage.tensors, layer_tensors(architecture, layer));
    }
    if (stage.has_head) {
        stage.tensors.push_back({"head.norm", {model.width}});
        stage.tensors.push_back({swarm::run::kHeadTensor, matrix});
    }
    return stage;
}

Result<> check_stages(const Architecture& architecture, std::uint32_t stages) {
    const std::uint32_t layers = architecture.model.layers;
    if (stages > layers) {
        return Error{
            ErrorCode::Usage,
            Reaction::Reject,
            "--stages is " + std::to_string(stages) + "; the model has " + std::to_string(layers) +
                " layers"};
    }
    if (stages > 1 && !architecture.traits.bottlenecks.layers.empty()) {
        return Error{
            ErrorCode::Unsupported,
            Reaction::Reject,
            "a model with bottlenecks (model.bottleneck) cannot be cut into parts; use --stages 1"};
    }
    return {};
}

std::vector<StageLayout> split(const Architecture& architecture, std::uint32_t stages) {
    std::vector<swarm::run::LayerCost> costs(architecture.model.layers);
    for (std::uint32_t layer = 0; layer < costs.size(); ++layer) {
        costs[layer].time = work_of(architecture, layer_tensors(architecture, layer));
    }
    const double head =
        static_cast<double>(architecture.model.vocabulary) * architecture.model.width;
    costs.back().time += head;
    std::vector<StageLayout> layouts;
    std::uint32_t first = 0;
    for (const std::uint32_t layers : *swarm::run::split_layers(costs, stages)) {
        layouts.push_back(layers_of(architecture, first, first + layers));
        layouts.back().stage = {static_cast<std::uint32_t>(layouts.size() - 1)};
        first += layers;
    }
    return layouts;
}

std::vector<TensorSpec> tensors_of(const Architecture& architecture) {
    return std::move(layers_of(architecture, 0, architecture.model.layers).tensors);
}

}  // namespace stacking::models
