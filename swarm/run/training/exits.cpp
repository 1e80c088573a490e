#include "swarm/run/training/exits.hpp"

#include "swarm/run/training/trained_part.hpp"

#include <algorithm>
#include <functional>

namespace swarm::run {
namespace {

constexpr std::string_view kExitHead = "exit.";
constexpr const char* kExitsKey = "train.exits";

}  // namespace

std::vector<std::uint32_t> exits_of(const RunConfig& config, const StageLayout& stage) {
    std::vector<std::uint32_t> own;
    for (const std::uint32_t exit : config.train.exits) {
        if (exit > stage.first_layer && exit <= stage.first_layer + stage.layers) {
            own.push_back(exit);
        }
    }
    return own;
}

std::string head_prefix(const StageLayout& stage) {
    return stage.has_head ? "head."
                          : std::string(kExitHead) + std::to_string(stage.stage.value) + ".";
}

std::vector<TensorSpec> exit_head(const RunConfig& config, const StageLayout& stage) {
    if (stage.has_head || exits_of(config, stage).empty()) {
        return {};
    }
    const ModelConfig& model = config.model;
    const std::string prefix = head_prefix(stage);
    return {{prefix + "norm", {model.width}}, {prefix + "weight", {model.vocabulary, model.width}}};
}

bool is_exit_head(std::string_view tensor) {
    return tensor.starts_with(kExitHead);
}

std::string original_of(const std::string& tensor) {
    return is_exit_head(tensor) ? "head" + tensor.substr(tensor.rfind('.')) : tensor;
}

bool is_held_by_exits(const RunConfig& config, std::string_view tensor) {
    return is_exit_head(tensor) || (!config.train.exits.empty() && tensor == kHeadNorm);
}

std::optional<std::pair<std::string, std::string>> exits_fault(const RunConfig& config) {
    const std::vector<std::uint32_t>& exits = config.train.exits;
    if (exits.empty()) {
        return std::nullopt;
    }
    const auto fault = [](std::string what) { return std::pair(kExitsKey, std::move(what)); };
    if (config.model.kind == ModelKind::Oracle) {
        return fault("must be empty for the oracle model, which has no head");
    }
    if (config.mode != SyncMode::Exact) {
        return fault("must be empty where run.mode is sparse");
    }
    if (config.model.bottleneck > 0) {
        return fault("must be empty where model.bottleneck is given");
    }
    if (config.loop.every > 0) {
        return fault("must be empty where loop.every is given");
    }
    if (config.split != SplitMode::Fixed) {
        return fault("must be empty where run.split is measured: a head stays at its exit");
    }
    const bool rise = std::ranges::adjacent_find(exits, std::greater_equal{}) == exits.end();
    if (!rise || exits.front() == 0 || exits.back() >= config.model.layers) {
        return fault(
            "must be rising numbers from 1 to model.layers - 1 (" +
            std::to_string(config.model.layers - 1) + ")"
        );
    }
    if (is_trained(config, {kHeadTensor, {}})) {
        return fault(
            "needs \"head\" in train.freeze: all exits share the head, which stays as it is"
        );
    }
    return std::nullopt;
}

}  // namespace swarm::run
