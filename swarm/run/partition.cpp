#include "swarm/run/partition.hpp"

#include "swarm/base/check.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace swarm::run {

namespace {

std::vector<TensorSpec> embedding_tensors(const ModelConfig& model) {
    if (model.kind == ModelKind::Oracle) {
        return {};
    }
    return {{"embed.weight", {model.vocabulary, model.width}}};
}

std::vector<TensorSpec> head_tensors(const ModelConfig& model) {
    if (model.kind == ModelKind::Oracle) {
        return {};
    }
    return {
        {"head.norm", {model.width}},
        {"head.weight", {model.vocabulary, model.width}},
    };
}

std::uint64_t elements_of(const std::vector<TensorSpec>& tensors) {
    std::uint64_t count = 0;
    for (const TensorSpec& tensor : tensors) {
        count += tensor.elements();
    }
    return count;
}

/// Elements of each layer; the embedding counts with the first one, the head with the last.
std::vector<std::uint64_t> layer_costs(const RunConfig& config) {
    std::vector<std::uint64_t> costs;
    for (std::uint32_t layer = 0; layer < config.model.layers; ++layer) {
        costs.push_back(elements_of(layer_tensors(config, layer)));
    }
    costs.front() += elements_of(embedding_tensors(config.model));
    costs.back() += elements_of(head_tensors(config.model));
    return costs;
}

/// How good a split of the first layers is: the largest stage decides, then the smallest.
struct Balance {
    std::uint64_t largest = 0;
    std::uint64_t smallest = std::numeric_limits<std::uint64_t>::max();
    std::size_t last_cut = 0;  // where the last stage of the split begins

    [[nodiscard]] Balance with(std::uint64_t stage_cost, std::size_t cut) const {
        return {std::max(largest, stage_cost), std::min(smallest, stage_cost), cut};
    }

    [[nodiscard]] bool better_than(const Balance& other) const {
        return largest != other.largest ? largest < other.largest : smallest > other.smallest;
    }
};

/// best[s][n]: the best split of the first n layers into s stages of at least one layer.
std::vector<std::uint32_t> balanced_split(
    const std::vector<std::uint64_t>& costs, std::size_t stages
) {
    const std::size_t layers = costs.size();
    std::vector<std::vector<Balance>> best(stages + 1, std::vector<Balance>(layers + 1));
    for (std::size_t s = 1; s <= stages; ++s) {
        for (std::size_t n = s; n <= layers; ++n) {
            Balance& chosen = best[s][n];
            chosen.largest = std::numeric_limits<std::uint64_t>::max();
            chosen.smallest = 0;
            std::uint64_t stage_cost = 0;
            for (std::size_t cut = n; cut-- >= s;) {
                stage_cost += costs[cut];
                const Balance tried = best[s - 1][cut].with(stage_cost, cut);
                if ((s > 1 || cut == 0) && tried.better_than(chosen)) {
                    chosen = tried;
                }
            }
        }
    }
    std::vector<std::uint32_t> split(stages);
    for (std::size_t s = stages, n = layers; s > 0; n = best[s][n].last_cut, --s) {
        split[s - 1] = static_cast<std::uint32_t>(n - best[s][n].last_cut);
    }
    return split;
}

void append(std::vector<TensorSpec>& to, std::vector<TensorSpec> from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

std::vector<TensorSpec> layer_tensors(const RunConfig& config, std::uint32_t layer) {
    const ModelConfig& model = config.model;
    const std::string prefix = "layers." + std::to_string(layer);
    if (model.kind == ModelKind::Oracle) {
        return {{prefix + ".counts", {config.microbatches}}};
    }
    const std::uint32_t width = model.width;
    const std::uint32_t kv_width = model.width / model.heads * model.kv_heads;
    return {
        {prefix + ".attn.wk", {kv_width, width}},
        {prefix + ".attn.wo", {width, width}},
        {prefix + ".attn.wq", {width, width}},
        {prefix + ".attn.wv", {kv_width, width}},
        {prefix + ".attn_norm", {width}},
        {prefix + ".mlp.w1", {model.ffn_width, width}},
        {prefix + ".mlp.w2", {width, model.ffn_width}},
        {prefix + ".mlp.w3", {model.ffn_width, width}},
        {prefix + ".mlp_norm", {width}},
    };
}

std::vector<StageLayout> partition(const RunConfig& config) {
    SWARM_ASSERT(config.stages > 0 && config.stages <= config.model.layers);
    const auto split = config.layers_per_stage.empty()
                           ? balanced_split(layer_costs(config), config.stages)
                           : config.layers_per_stage;
    std::vector<StageLayout> stages;
    std::uint32_t next_layer = 0;
    for (std::uint32_t s = 0; s < config.stages; ++s) {
        StageLayout& stage = stages.emplace_back();
        stage.stage = {s};
        stage.first_layer = next_layer;
        stage.layers = split[s];
        stage.has_embedding = s == 0;
        stage.has_head = s + 1 == config.stages;
        if (stage.has_embedding) {
            append(stage.tensors, embedding_tensors(config.model));
        }
        for (std::uint32_t i = 0; i < stage.layers; ++i) {
            append(stage.tensors, layer_tensors(config, next_layer++));
        }
        if (stage.has_head) {
            append(stage.tensors, head_tensors(config.model));
        }
    }
    return stages;
}

double offer_units(const RunConfig& config, const StageLayout& stage) {
    const double tokens = static_cast<double>(config.batch) * config.model.context;
    return stage.has_head ? units_per_microbatch(config, stage) : tokens * stage.layers;
}

double units_per_microbatch(const RunConfig& config, const StageLayout& stage) {
    const double tokens = static_cast<double>(config.batch) * config.model.context;
    return 3 * tokens * stage.layers;
}

std::vector<std::uint32_t> activation_shape(const RunConfig& config) {
    if (config.model.kind == ModelKind::Oracle) {
        return {1, 1, 13};
    }
    return {config.batch, config.model.context, config.model.width};
}

}  // namespace swarm::run
