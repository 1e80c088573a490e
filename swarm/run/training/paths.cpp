#include "swarm/run/training/paths.hpp"

#include "swarm/run/partition.hpp"

#include <algorithm>

namespace swarm::run {
namespace {

constexpr const char* kPathLayers = "paths.layers";

bool has_paths(const PathsConfig& paths) {
    return paths.skip_every > 0 || paths.twice_every > 0;
}

/// Whether they follow each other, and the model has them.
bool are_layers(const std::vector<std::uint32_t>& layers, const ModelConfig& model) {
    for (std::size_t i = 1; i < layers.size(); ++i) {
        if (layers[i - 1] >= model.layers || layers[i] != layers[i - 1] + 1) {
            return false;
        }
    }
    return layers.empty() || layers.back() < model.layers;
}

bool lie_in_one_stage(const RunConfig& config) {
    const auto& layers = config.paths.layers;
    return std::ranges::any_of(partition(config), [&](const StageLayout& stage) {
        return layers.front() >= stage.first_layer &&
               layers.back() < stage.first_layer + stage.layers;
    });
}

/// The first of skip_every and twice_every that leaves nothing to learn on another path.
std::optional<std::pair<std::string, std::string>> rate_fault(const PathsConfig& paths) {
    if (paths.skip_every == 1) {
        return std::pair("paths.skip_every", "must not be 1: the layers would never learn");
    }
    if (paths.twice_every == 1 || (paths.skip_every == 2 && paths.twice_every == 2)) {
        return std::pair(
            "paths.twice_every",
            "is " + std::to_string(paths.twice_every) +
                ", must be larger: no microbatch would take each layer once"
        );
    }
    return std::nullopt;
}

}  // namespace

LayerPath path_of(const PathsConfig& paths, std::uint64_t step, MicrobatchId microbatch) {
    const std::uint64_t number = step + microbatch.value;
    if (paths.skip_every > 0 && number % paths.skip_every == 0) {
        return LayerPath::Skipped;
    }
    const bool is_twice = paths.twice_every > 0 && number % paths.twice_every == 1;
    return is_twice ? LayerPath::Twice : LayerPath::Plain;
}

double mean_passes(const PathsConfig& paths) {
    constexpr std::uint64_t kCountedMost = 1'000'000;  // behind it a period says the same
    const std::uint64_t period =
        std::uint64_t{std::max(1U, paths.skip_every)} * std::max(1U, paths.twice_every);
    const std::uint64_t looks = std::min(period, kCountedMost);
    std::uint64_t passes = 0;
    for (std::uint64_t number = 0; number < looks; ++number) {
        const LayerPath path = path_of(paths, number, MicrobatchId{0});
        passes += path == LayerPath::Skipped ? 0 : path == LayerPath::Twice ? 2 : 1;
    }
    return static_cast<double>(passes) / static_cast<double>(looks);
}

LayerPath longest_path(const PathsConfig& paths) {
    return paths.twice_every > 0 ? LayerPath::Twice : LayerPath::Plain;
}

Detour detour_of(const RunConfig& config, const StageLayout& stage) {
    const auto& layers = config.paths.layers;
    if (layers.empty() || layers.front() < stage.first_layer ||
        layers.back() >= stage.first_layer + stage.layers) {
        return {};
    }
    return {layers.front() - stage.first_layer, static_cast<std::uint32_t>(layers.size())};
}

std::vector<std::uint32_t> layers_on(LayerPath path, std::size_t layers, Detour detour) {
    std::vector<std::uint32_t> order;
    const auto append = [&](std::uint32_t from, std::uint32_t to) {
        for (std::uint32_t layer = from; layer < to; ++layer) {
            order.push_back(layer);
        }
    };
    const std::uint32_t end = detour.first + detour.count;
    append(0, detour.first);
    const int times = path == LayerPath::Skipped ? 0 : (path == LayerPath::Twice ? 2 : 1);
    for (int time = 0; time < times; ++time) {
        append(detour.first, end);
    }
    append(end, static_cast<std::uint32_t>(layers));
    return order;
}

std::optional<std::pair<std::string, std::string>> paths_fault(const RunConfig& config) {
    const PathsConfig& paths = config.paths;
    const auto fault = [](std::string what) { return std::pair(kPathLayers, std::move(what)); };
    if (!are_layers(paths.layers, config.model)) {
        return fault("must be consecutive numbers below model.layers, as [2, 3]");
    }
    if (!has_paths(paths)) {
        return std::nullopt;
    }
    if (paths.layers.empty()) {
        return fault("must name layers where paths.skip_every or paths.twice_every is given");
    }
    if (config.model.kind == ModelKind::Oracle || config.model.experts > 0) {
        return fault("must be empty for the oracle model and for a mixture of experts");
    }
    if (config.mode != SyncMode::Exact || !config.train.exits.empty() || config.loop.every > 0) {
        return fault("must be empty in mode sparse and beside train.exits and loop.every");
    }
    if (config.split != SplitMode::Fixed) {
        return fault("must be empty where run.split is measured: they must stay in one stage");
    }
    if (!lie_in_one_stage(config)) {
        return fault(
            "must lie in one stage: a token that takes them twice would need a way back; cut the "
            "model by run.layers_per_stage"
        );
    }
    return rate_fault(paths);
}

}  // namespace swarm::run
