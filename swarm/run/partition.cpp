#include "swarm/run/partition.hpp"

#include "swarm/base/check.hpp"
#include "swarm/run/layer_split.hpp"
#include "swarm/run/training/boundary_maps.hpp"
#include "swarm/run/training/exits.hpp"
#include "swarm/run/training/expert_stages.hpp"
#include "swarm/run/training/mixture.hpp"
#include "swarm/run/training/trained_part.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

namespace swarm::run {

namespace {

constexpr std::string_view kLayers = "layers.";

std::vector<TensorSpec> embedding_tensors(const ModelConfig& model) {
    if (model.kind == ModelKind::Oracle) {
        return {};
    }
    return {{kEmbeddingTensor, {model.vocabulary, model.width}}};
}

std::vector<TensorSpec> head_tensors(const ModelConfig& model) {
    if (model.kind == ModelKind::Oracle) {
        return {};
    }
    return {
        {"head.norm", {model.width}},
        {kHeadTensor, {model.vocabulary, model.width}},
    };
}

std::uint64_t elements_of(const std::vector<TensorSpec>& tensors) {
    std::uint64_t count = 0;
    for (const TensorSpec& tensor : tensors) {
        count += tensor.elements();
    }
    return count;
}

void append(std::vector<TensorSpec>& to, std::vector<TensorSpec> from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

/// Cuts the sums and the state of an oracle into as many pieces as those of the parameters that it
/// stands for. Counters of microbatches are cut together with the sums.
void cut_as_stood_for(const RunConfig& config, StageLayout& stage) {
    const auto own = static_cast<double>(stage.elements());
    const auto stood_for = static_cast<double>(config.model.stands_for * stage.layers);
    if (config.model.kind != ModelKind::Oracle || stood_for <= own) {
        return;
    }
    stage.stands_for = config.model.stands_for * stage.layers;
    const double counters = config.microbatches;
    const auto pieces_of = [](double bytes, double share, std::uint64_t unit) {
        return std::max(unit, static_cast<std::uint64_t>(bytes * share) / unit * unit);
    };
    stage.slice_bytes_max = pieces_of(
        protocol::kSliceBytesMax, (own + counters) / (stood_for + counters), sizeof(std::int64_t)
    );
    stage.chunk_bytes_max = pieces_of(protocol::kChunkBytes, own / stood_for, sizeof(float));
}

}  // namespace

std::vector<TensorSpec> layer_tensors(const RunConfig& config, std::uint32_t layer) {
    const ModelConfig& model = config.model;
    const std::string prefix = "layers." + std::to_string(layer);
    if (model.kind == ModelKind::Oracle) {
        // A large layer is a matrix, which begins as noise, so its state does not shrink when
        // packed.
        const bool large = model.width > config.microbatches;
        const std::vector<std::uint32_t> shape =
            large ? std::vector{1U, model.width} : std::vector{config.microbatches};
        return {{prefix + ".counts", shape}};
    }
    const std::uint32_t width = model.width;
    const std::uint32_t head_width = model.values_per_head();
    const std::uint32_t queries = model.heads * head_width;
    const std::uint32_t kv_width = model.kv_heads * head_width;
    std::vector<TensorSpec> tensors;
    if (model.kind == ModelKind::Qwen2) {
        tensors.push_back({prefix + ".attn.bk", {kv_width}});
        tensors.push_back({prefix + ".attn.bq", {queries}});
        tensors.push_back({prefix + ".attn.bv", {kv_width}});
    } else if (has_query_key_norms(model.kind)) {
        tensors.push_back({prefix + ".attn.k_norm", {head_width}});
        tensors.push_back({prefix + ".attn.q_norm", {head_width}});
    }
    append(
        tensors,
        {
            {prefix + ".attn.wk", {kv_width, width}},
            {prefix + ".attn.wo", {width, queries}},
            {prefix + ".attn.wq", {queries, width}},
            {prefix + ".attn.wv", {kv_width, width}},
            {prefix + ".attn_norm", {width}},
        }
    );
    if (has_experts(model.kind)) {
        tensors.push_back({prefix + ".mlp_norm", {width}});
        append(tensors, mixture_tensors(model, prefix + "."));
    } else {
        append(
            tensors,
            {
                {prefix + ".mlp.w1", {model.ffn_width, width}},
                {prefix + ".mlp.w2", {width, model.ffn_width}},
                {prefix + ".mlp.w3", {model.ffn_width, width}},
                {prefix + ".mlp_norm", {width}},
            }
        );
    }
    add_adapters(config.lora, tensors);
    return tensors;
}

std::vector<std::uint64_t> layer_elements(const RunConfig& config) {
    std::vector<std::uint64_t> elements;
    for (std::uint32_t layer = 0; layer < config.model.layers; ++layer) {
        elements.push_back(elements_of(layer_tensors(config, layer)));
    }
    elements.front() += elements_of(embedding_tensors(config.model));
    elements.back() += elements_of(head_tensors(config.model));
    return elements;
}

namespace {

/// The layers of each stage, with their parts.
std::vector<StageLayout> cut(const RunConfig& config) {
    std::vector<StageLayout> stages(config.stages);
    std::vector<std::uint32_t> split(config.stages, 1);
    if (config.expert_stages == 1) {
        std::vector<LayerCost> costs;
        for (const std::uint64_t elements : layer_elements(config)) {
            costs.push_back({static_cast<double>(elements), 0});
        }
        split = config.layers_per_stage.empty() ? *split_layers(costs, config.stages)
                                                : config.layers_per_stage;
    }
    std::uint32_t next_layer = 0;
    for (std::uint32_t s = 0; s < config.stages; ++s) {
        StageLayout& stage = stages[s];
        stage.stage = {s};
        stage.first_layer = next_layer;
        stage.layers = split[s];
        stage.has_embedding = s == 0;
        stage.has_head = s + 1 == config.stages;
        stage.part = part_of(config, stage.stage);
        next_layer += stage.part.is_last() ? stage.layers : 0;
    }
    return stages;
}

/// The tensors of the stage's layers, or of its part of one.
std::vector<TensorSpec> own_layers(const RunConfig& config, const StageLayout& stage) {
    std::vector<TensorSpec> own;
    for (std::uint32_t i = 0; i < stage.layers; ++i) {
        append(own, layer_tensors(config, stage.first_layer + i));
    }
    std::erase_if(own, [&](const TensorSpec& tensor) {
        return stage.part.parts > 1 && !is_in_part(config.model, stage.part, tensor.name);
    });
    return own;
}

}  // namespace

std::vector<StageLayout> partition(const RunConfig& config) {
    SWARM_ASSERT(config.stages > 0 && config.stages <= config.model.layers * config.expert_stages);
    std::vector<StageLayout> stages = cut(config);
    for (StageLayout& stage : stages) {
        std::vector<TensorSpec> all;
        if (stage.has_embedding) {
            append(all, embedding_tensors(config.model));
        }
        if (auto table = token_table(config, stage.stage)) {
            all.push_back(std::move(*table));
        }
        if (auto map = map_up(config, stage.stage)) {
            all.push_back(std::move(*map));
        }
        append(all, own_layers(config, stage));
        if (auto map = map_down(config, stage.stage)) {
            all.push_back(std::move(*map));
        }
        if (stage.has_head) {
            append(all, head_tensors(config.model));
        }
        append(all, exit_head(config, stage));
        for (TensorSpec& tensor : all) {
            auto& part = is_trained(config, tensor) ? stage.tensors : stage.frozen;
            part.push_back(std::move(tensor));
        }
        cut_as_stood_for(config, stage);
    }
    return stages;
}

std::vector<PlacedTensor> all_tensors(const StageLayout& layout) {
    std::vector<PlacedTensor> placed;
    for (const bool frozen : {false, true}) {
        std::uint64_t begin = 0;
        for (const TensorSpec& tensor : frozen ? layout.frozen : layout.tensors) {
            placed.push_back({&tensor, frozen, begin});
            begin += tensor.elements();
        }
    }
    const auto rank = [](const PlacedTensor& tensor) {
        const std::string& name = tensor.spec->name;
        if (name == kEmbeddingTensor) {
            return std::tuple(0U, 0UL, std::pair(0U, std::string_view(name)));
        }
        if (is_boundary_map(name) && !name.ends_with(".down")) {
            return std::tuple(0U, 1UL, std::pair(0U, std::string_view(name)));
        }
        if (!name.starts_with(kLayers)) {
            return std::tuple(2U, 0UL, std::pair(0U, std::string_view(name)));
        }
        const std::string_view rest = std::string_view(name).substr(kLayers.size());
        return std::tuple(1U, std::strtoul(rest.data(), nullptr, 10), place_in_layer(name));
    };
    std::ranges::stable_sort(placed, {}, rank);
    return placed;
}

std::string layers_text(std::uint32_t first_layer, std::uint32_t layers, LayerPart part) {
    std::string text = std::to_string(first_layer);
    if (layers > 1) {
        text += "-" + std::to_string(first_layer + layers - 1);
    }
    if (part.parts > 1) {
        text += " (" + std::to_string(part.index + 1) + "/" + std::to_string(part.parts) + ")";
    }
    return text;
}

std::vector<std::uint32_t> layers_of(const std::vector<StageLayout>& stages) {
    std::vector<std::uint32_t> layers;
    for (const StageLayout& stage : stages) {
        layers.push_back(stage.part.is_first() ? stage.layers : 0);
    }
    return layers;
}

std::optional<StageIndex> tied_stage(const RunConfig& config, StageIndex stage) {
    const StageIndex first{0};
    const StageIndex last{config.stages - 1};
    if (!trains_tied_matrix(config) || first == last || (stage != first && stage != last)) {
        return std::nullopt;
    }
    return stage == first ? last : first;
}

std::uint64_t tied_elements(const RunConfig& config) {
    return std::uint64_t{config.model.vocabulary} * config.model.width;
}

double offer_units(const RunConfig& config, const StageLayout& stage) {
    const double tokens = static_cast<double>(config.batch) * config.model.context;
    return stage.has_head ? units_per_microbatch(config, stage) : tokens * stage.layers;
}

double units_per_microbatch(const RunConfig& config, const StageLayout& stage) {
    const double tokens = static_cast<double>(config.batch) * config.model.context;
    return 3 * tokens * stage.layers;
}

std::vector<std::uint32_t> activation_shape(const RunConfig& config, StageIndex stage) {
    if (config.model.kind == ModelKind::Oracle) {
        return {1, 1, 13};
    }
    return {config.batch, config.model.context, activation_width(config, stage)};
}

std::vector<std::uint64_t> elements_between(const RunConfig& config) {
    std::vector<std::uint64_t> elements;
    for (std::uint32_t s = 0; s + 1 < config.stages; ++s) {
        elements.push_back(TensorSpec{{}, activation_shape(config, {s})}.elements());
    }
    return elements;
}

std::uint64_t mean_elements_between(const RunConfig& config) {
    const std::vector<std::uint64_t> all = elements_between(config);
    const std::uint64_t sum = std::accumulate(all.begin(), all.end(), std::uint64_t{0});
    return all.empty() ? 0 : sum / all.size();
}

}  // namespace swarm::run
