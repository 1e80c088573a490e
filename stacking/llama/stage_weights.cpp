#include "stacking/llama/stage_weights.hpp"

#include "stacking/llama/weight_reader.hpp"
#include "stacking/models/training/shared_layers.hpp"
#include "swarm/base/try.hpp"
#include "swarm/run/training/boundary_maps.hpp"

#include <algorithm>
#include <initializer_list>
#include <new>
#include <string>
#include <utility>

namespace stacking::llama {
namespace {

using kernels::JoinedMatrix;
using kernels::PackedMatrix;
using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;

/// Reads a feed-forward part whose names begin with `prefix`.
FeedForwardWeights read_feed_forward(WeightReader& reader, const std::string& prefix) {
    return {
        .gate_up = reader.matrix({prefix + "w1", prefix + "w3"}),
        .down = reader.matrix({prefix + "w2"})};
}

void read_experts(
    WeightReader& reader,
    const std::string& prefix,
    const models::Experts& experts,
    const HeldParts& held,
    LayerWeights& layer
) {
    if (experts.count == 0 && held.trunk) {
        layer.experts.push_back(read_feed_forward(reader, prefix + "mlp."));
        return;
    }
    const std::string mixture = prefix + "moe.";
    for (std::uint32_t expert = 0; expert < experts.count && !reader.fault(); ++expert) {
        const bool holds = !held.experts || held.experts->has(expert);
        const std::string name = mixture + std::to_string(expert) + ".";
        layer.experts.push_back(holds ? read_feed_forward(reader, name) : FeedForwardWeights());
    }
    if (!held.trunk || experts.count == 0) {
        return;
    }
    layer.router = reader.exact_matrix(mixture + "router");
    if (experts.shared_width > 0) {
        layer.shared = read_feed_forward(reader, mixture + "shared.");
        layer.shared_gate = reader.exact_matrix(mixture + "shared_gate");
    }
}

void read_bottleneck(WeightReader& reader, std::uint32_t layer, StageWeights& stage) {
    const auto& layers = stage.architecture.traits.bottlenecks.layers;
    const auto at = std::ranges::find(layers, layer);
    if (at == layers.end()) {
        return;
    }
    using namespace swarm::run;
    const auto boundary = static_cast<std::uint32_t>(at - layers.begin());
    stage.bottlenecks.push_back(
        {layer - stage.first_layer,
         reader.matrix({boundary_tensor(boundary, kBoundaryDown)}),
         reader.matrix({boundary_tensor(boundary, kBoundaryUp)}),
         reader.matrix({boundary_tensor(boundary, kBoundaryTokens)})}
    );
}

LayerWeights read_layer(
    WeightReader& reader,
    std::uint32_t index,
    const models::Architecture& architecture,
    const HeldParts& held
) {
    const std::string prefix = "layers." + std::to_string(index) + ".";
    if (!held.trunk) {
        LayerWeights experts;
        read_experts(reader, prefix, architecture.traits.experts, held, experts);
        return experts;
    }
    const std::string attention = prefix + "attn.";
    LayerWeights layer{
        .attention_norm = reader.vector_if(prefix + "attn_norm"),
        .query_key_value = reader.matrix({attention + "wq", attention + "wk", attention + "wv"}),
        .query_key_value_bias = reader.vector_if(attention + "bq"),
        .query_norm = reader.vector_if(attention + "q_norm"),
        .key_norm = reader.vector_if(attention + "k_norm"),
        .attention_out = reader.matrix({attention + "wo"}),
        .attention_out_bias = reader.vector_if(attention + "bo"),
        .attention_post_norm = reader.vector_if(prefix + "attn_post_norm"),
        .ffn_norm = reader.vector_if(prefix + "mlp_norm"),
        .experts = {},
        .router = {},
        .shared = {},
        .shared_gate = {},
        .ffn_post_norm = reader.vector_if(prefix + "mlp_post_norm")};
    for (const char* const name : {"bk", "bv"}) {
        const std::vector<float> bias = reader.vector_if(attention + name);
        layer.query_key_value_bias.insert(
            layer.query_key_value_bias.end(), bias.begin(), bias.end()
        );
    }
    read_experts(reader, prefix, architecture.traits.experts, held, layer);
    return layer;
}

swarm::Result<std::shared_ptr<const StageWeights>> read_stage(
    const models::ModelSource& source,
    const swarm::run::StageLayout& layout,
    WeightChoice choice,
    Exits exits,
    const HeldParts& held,
    swarm::Workers& workers
) {
    WeightReader reader(source, choice, workers);
    if (held.trunk && !held.experts) {
        reader.expect(layout);
    }
    auto stage = std::make_shared<StageWeights>();
    stage->architecture = source.architecture();
    stage->first_layer = layout.first_layer;
    const bool tied = source.architecture().tied_embeddings;
    stage->first = layout.has_embedding && layout.layers > 0;
    stage->last = layout.has_head;
    if (layout.has_embedding && held.trunk) {
        stage->embedding = std::make_shared<JoinedMatrix>(reader.matrix({"embed.weight"}));
    }
    for (std::uint32_t i = 0; i < layout.layers && !reader.fault(); ++i) {
        const std::uint32_t layer = layout.first_layer + i;
        if (held.trunk) {
            read_bottleneck(reader, layer, *stage);
        }
        if (i == 0 || !models::repeats_layer_before(source, layer)) {
            stage->layers.push_back(read_layer(reader, layer, stage->architecture, held));
        }
        stage->weights_of.push_back(stage->layers.size() - 1);
    }
    if (!held.trunk) {
        return reader.fault() ? swarm::Result<std::shared_ptr<const StageWeights>>(*reader.fault())
                              : std::shared_ptr<const StageWeights>(std::move(stage));
    }
    if (tied && stage->first) {
        stage->head = stage->embedding;
    } else if ((stage->last || exits == Exits::EveryStage) && !reader.fault()) {
        const bool shared = layout.has_embedding && tied;
        stage->head = shared ? stage->embedding
                             : std::make_shared<JoinedMatrix>(reader.matrix({"head.weight"}));
    }
    if (tied && stage->last) {
        stage->embedding = stage->head;
    }
    if (stage->head != nullptr && !reader.fault()) {
        stage->head_norm = reader.vector("head.norm");
    }
    if (reader.fault()) {
        return *reader.fault();
    }
    return stage;
}

}  // namespace

swarm::Result<std::shared_ptr<const StageWeights>> load_stage(
    const models::ModelSource& source,
    const swarm::run::StageLayout& layout,
    WeightChoice choice,
    Exits exits,
    const HeldParts& held,
    swarm::Workers* workers
) {
    swarm::OneThread alone;
    try {
        return read_stage(
            source, layout, choice, exits, held, workers == nullptr ? alone : *workers
        );
    } catch (const std::bad_alloc&) {
        return Error{
            ErrorCode::Full,
            Reaction::Reject,
            "not enough memory for the weights of stage " + std::to_string(layout.stage.value) +
                "; use more stages, or --weights int8"};
    }
}

std::uint64_t kept_bytes(
    const models::ModelSource& source, const swarm::run::StageLayout& layout, WeightChoice choice
) {
    std::uint64_t bytes = 0;
    std::vector<bool> repeats(layout.layers);
    for (std::uint32_t i = 1; i < layout.layers; ++i) {
        repeats[i] = models::repeats_layer_before(source, layout.first_layer + i);
    }
    for (const swarm::run::TensorSpec& wanted : layout.tensors) {
        const auto layer = models::layer_of_tensor(wanted.name);
        if (layer && repeats[*layer - layout.first_layer]) {
            continue;
        }
        const auto& tensor = source.tensors().find(wanted.name)->second;
        const bool counted = wanted.name == "head.weight" && layout.has_embedding &&
                             source.architecture().tied_embeddings;
        if (tensor.shape.size() < 2) {
            bytes += tensor.columns() * sizeof(float);
        } else if (!counted) {
            bytes += keeps_stored(tensor, choice)
                         ? PackedMatrix::bytes_of(tensor.type, tensor.rows(), tensor.columns())
                         : PackedMatrix::bytes_of(
                               choice.format().value_or(kernels::WeightFormat::Fp32),
                               tensor.rows(),
                               tensor.columns()
                           );
        }
    }
    return bytes;
}

}  // namespace stacking::llama
