#include "swarm/run/training/boundary_maps.hpp"

#include "swarm/run/training/expert_stages.hpp"

namespace swarm::run {
namespace {

constexpr std::string_view kBoundary = "boundary.";
constexpr const char* kBottleneck = "model.bottleneck";

}  // namespace

std::string boundary_tensor(std::uint32_t boundary, const char* which) {
    return std::string(kBoundary) + std::to_string(boundary) + which;
}

std::uint32_t activation_width(const RunConfig& config, StageIndex stage) {
    const ModelConfig& model = config.model;
    if (model.bottleneck > 0) {
        return model.bottleneck;
    }
    return part_of(config, stage).is_last() ? model.width : width_within_layer(model);
}

std::uint32_t widest_activation(const RunConfig& config) {
    return activation_width(config, {0});  // a layer begins with stage 0, and its parts are alike
}

bool is_boundary_map(std::string_view tensor) {
    return tensor.starts_with(kBoundary);
}

bool is_token_table(std::string_view tensor) {
    return is_boundary_map(tensor) && tensor.ends_with(kBoundaryTokens);
}

std::optional<TensorSpec> map_down(const RunConfig& config, StageIndex stage) {
    const ModelConfig& model = config.model;
    if (model.bottleneck == 0 || stage.value + 1 >= config.stages) {
        return std::nullopt;
    }
    return TensorSpec{boundary_tensor(stage.value, kBoundaryDown), {model.bottleneck, model.width}};
}

std::optional<TensorSpec> map_up(const RunConfig& config, StageIndex stage) {
    const ModelConfig& model = config.model;
    if (model.bottleneck == 0 || stage.value == 0 || stage.value >= config.stages) {
        return std::nullopt;
    }
    return TensorSpec{
        boundary_tensor(stage.value - 1, kBoundaryUp), {model.width, model.bottleneck}};
}

std::optional<TensorSpec> token_table(const RunConfig& config, StageIndex stage) {
    if (!map_up(config, stage)) {
        return std::nullopt;
    }
    return TensorSpec{
        boundary_tensor(stage.value - 1, kBoundaryTokens),
        {config.model.vocabulary, config.model.width}};
}

std::optional<std::pair<std::string, std::string>> bottleneck_fault(const RunConfig& config) {
    const ModelConfig& model = config.model;
    if (model.bottleneck == 0) {
        return std::nullopt;
    }
    if (model.kind == ModelKind::Oracle) {
        return std::pair(kBottleneck, "must be 0 for the oracle model, which has no width");
    }
    if (model.bottleneck >= model.width) {
        return std::pair(
            kBottleneck,
            "is " + std::to_string(model.bottleneck) + ", must be below model.width (" +
                std::to_string(model.width) + ")"
        );
    }
    if (config.stages < 2) {
        return std::pair(kBottleneck, "must be 0 where run.stages is 1: there is no boundary");
    }
    if (config.split != SplitMode::Fixed) {
        return std::pair(
            kBottleneck, "must be 0 where run.split is measured: a boundary stays where it is"
        );
    }
    if (config.mode != SyncMode::Exact) {
        return std::pair(kBottleneck, "must be 0 where run.mode is sparse");
    }
    if (!config.init.empty() || !config.init_sha256.empty()) {
        return std::pair(
            kBottleneck, "must be 0 where run.init is given: that model was trained without"
        );
    }
    if (config.lora.rank > 0) {
        return std::pair(kBottleneck, "must be 0 where lora.rank is given: the maps are trained");
    }
    return std::nullopt;
}

}  // namespace swarm::run
