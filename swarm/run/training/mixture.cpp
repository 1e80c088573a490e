#include "swarm/run/training/mixture.hpp"

#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <charconv>

namespace swarm::run {
namespace {

constexpr std::string_view kMark = ".moe.";
constexpr const char* kExperts = "model.experts";
constexpr const char* kPerToken = "model.experts_per_token";

// One stage may hold all layers: attention, two norms, the router, and in some kinds two norms of
// heads; and beside them three tensors of the embedding and the head.
constexpr std::uint64_t kOtherTensorsOfLayer = 7;
constexpr std::uint64_t kHeadNormsOfLayer = 2;
constexpr std::uint64_t kTensorsPerExpert = 3;
constexpr std::uint64_t kTensorsOutside = 3;

}  // namespace

std::vector<TensorSpec> mixture_tensors(const ModelConfig& model, const std::string& layer) {
    std::vector<TensorSpec> tensors{{layer + "moe.router", {model.experts, model.width}}};
    for (std::uint32_t expert = 0; expert < model.experts; ++expert) {
        const std::string prefix = layer + "moe." + std::to_string(expert) + ".";
        tensors.push_back({prefix + "w1", {model.ffn_width, model.width}});
        tensors.push_back({prefix + "w2", {model.width, model.ffn_width}});
        tensors.push_back({prefix + "w3", {model.ffn_width, model.width}});
    }
    return tensors;
}

std::pair<std::uint32_t, std::string_view> place_in_layer(std::string_view tensor) {
    const auto expert = expert_of(tensor);
    return {expert ? *expert + 1 : 0, tensor};
}

bool is_router(std::string_view tensor) {
    return tensor.ends_with(".moe.router");
}

bool is_expert(std::string_view tensor) {
    return tensor.find(kMark) != std::string_view::npos && !is_router(tensor);
}

std::optional<std::uint32_t> expert_of(std::string_view tensor) {
    if (!is_expert(tensor)) {
        return std::nullopt;
    }
    tensor.remove_prefix(tensor.find(kMark) + kMark.size());
    std::uint32_t expert = 0;
    std::from_chars(tensor.data(), tensor.data() + tensor.size(), expert);
    return expert;
}

double used_share(const ModelConfig& model, std::string_view tensor) {
    return is_expert(tensor) ? static_cast<double>(model.experts_per_token) / model.experts : 1;
}

std::optional<std::pair<std::string, std::string>> mixture_fault(const ModelConfig& model) {
    const std::string kind(to_text(model.kind));
    if (!has_experts(model.kind)) {
        if (model.experts != 0) {
            return std::pair(kExperts, "must be 0 where model.kind is \"" + kind + "\"");
        }
        return std::nullopt;
    }
    if (model.experts == 0) {
        return std::pair(kExperts, "must be 1 or more where model.kind is \"" + kind + "\"");
    }
    if (model.experts_per_token > model.experts) {
        return std::pair(
            kPerToken,
            "is " + std::to_string(model.experts_per_token) + ", must be at most model.experts (" +
                std::to_string(model.experts) + ")"
        );
    }
    const std::uint64_t of_layer = kOtherTensorsOfLayer + kTensorsPerExpert * model.experts +
                                   (has_query_key_norms(model.kind) ? kHeadNormsOfLayer : 0);
    if (model.layers * of_layer + kTensorsOutside > protocol::kTensorsMax) {
        return std::pair(
            kExperts,
            "makes too many tensors: one stage may hold those of all layers, of which there are " +
                std::to_string(model.layers)
        );
    }
    return std::nullopt;
}

}  // namespace swarm::run
