#include "swarm/run/training/trained_part.hpp"

#include "swarm/protocol/limits.hpp"
#include "swarm/run/training/exits.hpp"
#include "swarm/run/training/mixture.hpp"
#include "swarm/run/training/tensor_groups.hpp"

#include <algorithm>
#include <string_view>

namespace swarm::run {
namespace {

constexpr std::string_view kAdapterMark = ".lora_";

std::string adaptable_names() {
    std::string names;
    for (const char* const name : kAdaptable) {
        names += (names.empty() ? "" : ", ") + std::string(name);
    }
    return names;
}

bool is_adaptable(std::string_view name) {
    return std::ranges::find(kAdaptable, name) != std::end(kAdaptable);
}

/// The number of trained tensors of all stages, which one stage may hold.
std::size_t count_trained(const RunConfig& config) {
    std::size_t count = 0;
    for (const StageLayout& stage : partition(config)) {
        count += stage.tensors.size();
    }
    return count;
}

using KeyFault = std::pair<std::string, std::string>;

std::optional<KeyFault> documents_fault(const RunConfig& config) {
    const TrainConfig& train = config.train;
    if (train.separate_documents && config.model.kind == ModelKind::Oracle) {
        return KeyFault(
            "train.separate_documents", "must be false for the oracle model, which has no attention"
        );
    }
    const std::vector<std::uint32_t>& end = train.document_end;
    if (!end.empty() && (end.size() > 1 || end.front() >= config.model.vocabulary)) {
        return KeyFault(
            "train.document_end", "must be one token below model.vocabulary, or empty"
        );
    }
    return std::nullopt;
}

}  // namespace

bool is_trained(const RunConfig& config, const TensorSpec& tensor) {
    if (is_held_by_exits(config, tensor.name)) {
        return false;
    }
    if (config.lora.rank > 0) {
        return tensor.name.find(kAdapterMark) != std::string::npos;
    }
    return std::ranges::none_of(config.train.freeze, [&](const std::string& group) {
        return is_in_group(group, tensor);
    });
}

StageMask training_stages(const RunConfig& config, const std::vector<StageLayout>& layouts) {
    StageMask training;
    for (const StageLayout& layout : layouts) {
        if (config.mode == SyncMode::Sparse || !layout.tensors.empty()) {
            training.add(layout.stage);
        }
    }
    return training;
}

bool trains_tied_matrix(const RunConfig& config) {
    return config.model.tied_embeddings && is_trained(config, {kEmbeddingTensor, {}});
}

void add_adapters(const LoraConfig& lora, std::vector<TensorSpec>& layer) {
    if (lora.rank == 0) {
        return;
    }
    std::vector<TensorSpec> adapters;
    for (const TensorSpec& tensor : layer) {
        const bool adapted = std::ranges::any_of(lora.on, [&](const std::string& name) {
            return tensor.name.ends_with("." + name);
        });
        if (adapted) {
            adapters.push_back({tensor.name + kAdapterIn, {lora.rank, tensor.shape[1]}});
            adapters.push_back({tensor.name + kAdapterOut, {tensor.shape[0], lora.rank}});
        }
    }
    layer.insert(layer.end(), adapters.begin(), adapters.end());
    std::ranges::sort(layer, {}, [](const TensorSpec& tensor) {
        return place_in_layer(tensor.name);
    });
}

double adapter_scale(const LoraConfig& lora) {
    return lora.alpha > 0 ? lora.alpha / lora.rank : 2;
}

std::optional<std::pair<std::string, std::string>> trained_part_fault(const RunConfig& config) {
    const bool whole = config.train.freeze.empty() && config.lora.rank == 0;
    const std::string key = config.lora.rank > 0 ? "lora.rank" : "train.freeze";
    if (!whole && config.mode == SyncMode::Sparse) {
        return std::pair(key, "must be left out in mode sparse");
    }
    if (config.lora.rank > 0 && config.model.kind == ModelKind::Oracle) {
        return std::pair(key, "must be left out for the oracle model");
    }
    if (config.lora.rank > 0 && !config.train.freeze.empty()) {
        return std::pair(
            "train.freeze", "must be left out where lora.rank is given: all is frozen"
        );
    }
    if (const auto fault = groups_fault(config.train.freeze, config.model)) {
        return std::pair("train.freeze", *fault);
    }
    for (const std::string& name : config.lora.on) {
        if (!is_adaptable(name)) {
            return std::pair(
                "lora.on", "names \"" + name + "\"; adapters are for " + adaptable_names()
            );
        }
    }
    if (config.lora.rank > 0 && config.lora.on.empty()) {
        return std::pair("lora.on", "must name a matrix: " + adaptable_names());
    }
    const std::size_t trained = whole ? 1 : count_trained(config);
    if (trained == 0) {
        return std::pair(key, "leaves nothing to train");
    }
    if (trained > protocol::kTensorsMax) {
        return std::pair(
            "lora.on",
            "makes " + std::to_string(trained) +
                " tensors of the model's layers, must make at most " +
                std::to_string(protocol::kTensorsMax)
        );
    }
    const auto fault = documents_fault(config);
    return fault ? fault : exits_fault(config);
}

}  // namespace swarm::run
