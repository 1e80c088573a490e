#include "swarm/run/training/expert_stages.hpp"

#include "swarm/run/layer_work.hpp"
#include "swarm/run/training/mixture.hpp"

namespace swarm::run {
namespace {

constexpr const char* kExpertStages = "run.expert_stages";
constexpr std::uint32_t kGroupOfCodecs = 64;

using KeyFault = std::pair<std::string, std::string>;

/// A key that does not go with a cut within layers.
std::optional<KeyFault> conflict_of(const RunConfig& config) {
    const auto must_be_1 = [](const std::string& where) {
        return KeyFault(kExpertStages, "must be 1 where " + where);
    };
    if (!config.layers_per_stage.empty()) {
        return must_be_1("run.layers_per_stage is given: each layer has as many stages");
    }
    if (config.split != SplitMode::Fixed) {
        return must_be_1("run.split is measured: only whole layers are dealt anew");
    }
    if (config.mode != SyncMode::Exact) {
        return must_be_1("run.mode is sparse");
    }
    if (config.model.bottleneck > 0) {
        return must_be_1("model.bottleneck is given: it has no map for the shares of experts");
    }
    if (config.model.repeat > 1) {
        return must_be_1("model.repeat is above 1: a row would have to come by its stages again");
    }
    if (!config.train.exits.empty()) {
        return must_be_1("train.exits is given: exits lie behind whole layers");
    }
    return std::nullopt;
}

}  // namespace

LayerPart part_of(const RunConfig& config, StageIndex stage) {
    return {stage.value % config.expert_stages, config.expert_stages};
}

ExpertRange experts_of(const ModelConfig& model, LayerPart part) {
    const auto up_to = [&](std::uint32_t parts) {
        return static_cast<std::uint32_t>(std::uint64_t{model.experts} * parts / part.parts);
    };
    return {up_to(part.index), up_to(part.index + 1)};
}

bool is_in_part(const ModelConfig& model, LayerPart part, std::string_view tensor) {
    const auto expert = expert_of(tensor);
    if (!expert) {
        return part.is_first();
    }
    const ExpertRange own = experts_of(model, part);
    return own.first <= *expert && *expert < own.end;
}

std::uint32_t filled_up(std::uint32_t values) {
    return (values + kGroupOfCodecs - 1) / kGroupOfCodecs * kGroupOfCodecs;
}

std::uint32_t width_within_layer(const ModelConfig& model) {
    return 2 * filled_up(model.width) + filled_up(model.experts);
}

double work_share(const RunConfig& config, const StageLayout& stage) {
    return stage_work(config, stage) / layer_work(config)[stage.first_layer];
}

std::optional<KeyFault> expert_stages_fault(const RunConfig& config) {
    if (config.expert_stages == 1) {
        return std::nullopt;
    }
    const std::string stages = std::to_string(config.expert_stages);
    if (!has_experts(config.model.kind)) {
        return KeyFault(kExpertStages, "is " + stages + ", must be 1: the model has no experts");
    }
    if (config.expert_stages > config.model.experts) {
        return KeyFault(
            kExpertStages,
            "is " + stages + ", must be at most model.experts (" +
                std::to_string(config.model.experts) + "): each of its stages needs an expert"
        );
    }
    const std::uint64_t all = std::uint64_t{config.model.layers} * config.expert_stages;
    if (config.stages != all) {
        return KeyFault(
            "run.stages",
            "is " + std::to_string(config.stages) + ", must be " + std::to_string(all) +
                " where run.expert_stages is " + stages + ": " + stages + " for each of " +
                std::to_string(config.model.layers) + " layers"
        );
    }
    return conflict_of(config);
}

}  // namespace swarm::run
