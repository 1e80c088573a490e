#include "swarm/run/layer_work.hpp"

#include "swarm/run/partition.hpp"
#include "swarm/run/training/expert_stages.hpp"
#include "swarm/run/training/mixture.hpp"

#include <numeric>

namespace swarm::run {
namespace {

constexpr double kForwardAndBackward = 3;

double tokens_of(const RunConfig& config) {
    return static_cast<double>(config.batch) * config.model.context;
}

/// The work of so many weights that a token meets, and of attention where they have it.
double work_of(const RunConfig& config, double weights, bool attends) {
    const ModelConfig& model = config.model;
    const bool is_oracle = model.kind == ModelKind::Oracle;
    const double queries =
        is_oracle ? model.width : static_cast<double>(model.heads) * model.values_per_head();
    const double attention = attends ? 4.0 * model.context * queries : 0;
    const double once = kForwardAndBackward * tokens_of(config) * (2 * weights + attention) / 1e9;
    return model.repeat * once;
}

double head_work(const RunConfig& config) {
    const ModelConfig& model = config.model;
    if (model.kind == ModelKind::Oracle) {
        return 0;
    }
    const double head = 2.0 * model.vocabulary * model.width;
    return kForwardAndBackward * tokens_of(config) * head / 1e9;
}

/// Weights of a layer that a token meets in the mean: all, or those of the part.
double weights_met(const RunConfig& config, std::uint32_t layer, LayerPart part) {
    double weights = 0;
    for (const TensorSpec& tensor : layer_tensors(config, layer)) {
        if (part.parts == 1 || is_in_part(config.model, part, tensor.name)) {
            const double share = used_share(config.model, tensor.name);
            weights += share * static_cast<double>(tensor.elements());
        }
    }
    return weights;
}

}  // namespace

std::vector<double> layer_work(const RunConfig& config) {
    std::vector<double> work;
    for (std::uint32_t layer = 0; layer < config.model.layers; ++layer) {
        work.push_back(work_of(config, weights_met(config, layer, {}), true));
    }
    work.back() += head_work(config);
    for (const std::uint32_t exit : config.train.exits) {
        work[exit - 1] += head_work(config);
    }
    return work;
}

double stage_work(const RunConfig& config, const StageLayout& stage) {
    if (stage.part.parts > 1) {
        const double weights = weights_met(config, stage.first_layer, stage.part);
        const double own = work_of(config, weights, stage.part.is_first());
        return own + (stage.has_head ? head_work(config) : 0);
    }
    const std::vector<double> layers = layer_work(config);
    const auto first = layers.begin() + stage.first_layer;
    return std::accumulate(first, first + stage.layers, 0.0);
}

double boundary_map_work(const RunConfig& config) {
    const ModelConfig& model = config.model;
    const double weights = static_cast<double>(model.bottleneck) * model.width;
    return kForwardAndBackward * tokens_of(config) * 2 * weights / 1e9;
}

}  // namespace swarm::run
