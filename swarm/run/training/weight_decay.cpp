#include "swarm/run/training/weight_decay.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <system_error>
#include <vector>

namespace swarm::run {
namespace {

constexpr std::string_view kLayerPrefix = "layers.";

bool is_in(const TensorSpec& tensor, std::string_view part) {
    return tensor.name.find(part) != std::string::npos;
}

bool is_vector(const TensorSpec& tensor) {
    return tensor.shape.size() != 2;
}

struct DecayGroup {
    std::string_view name;
    bool (*has)(const TensorSpec& tensor);
};

constexpr std::array<DecayGroup, 6> kDecayGroups{{
    {"embed", [](const TensorSpec& tensor) { return tensor.name == kEmbeddingTensor; }},
    {"head", [](const TensorSpec& tensor) { return tensor.name == kHeadTensor; }},
    {"norms", is_vector},
    {"bias", is_vector},
    {"attn", [](const TensorSpec& tensor) { return is_in(tensor, ".attn."); }},
    {"mlp", [](const TensorSpec& tensor) { return is_in(tensor, ".mlp."); }},
}};

/// The number of "layers.3"; nullopt for every other name.
std::optional<std::uint32_t> layer_of(std::string_view group) {
    if (!group.starts_with(kLayerPrefix)) {
        return std::nullopt;
    }
    group.remove_prefix(kLayerPrefix.size());
    std::uint32_t layer = 0;
    const char* const end = group.data() + group.size();
    const auto [rest, error] = std::from_chars(group.data(), end, layer);
    const bool plain = group == "0" || !group.starts_with('0');  // one layer has one name
    return error == std::errc{} && rest == end && plain ? std::optional(layer) : std::nullopt;
}

bool group_has(std::string_view group, const TensorSpec& tensor) {
    if (layer_of(group)) {
        return tensor.name.starts_with(std::string(group) + ".");
    }
    const auto* const found = std::ranges::find(kDecayGroups, group, &DecayGroup::name);
    return found != kDecayGroups.end() && found->has(tensor);
}

std::string names_with(const std::string& layers) {
    std::string names;
    for (const DecayGroup& group : kDecayGroups) {
        names += std::string(names.empty() ? "" : ", ") + std::string(group.name);
    }
    return names + " and " + layers;
}

}  // namespace

bool has_weight_decay(const OptimizerConfig& optimizer, const TensorSpec& tensor) {
    return !is_vector(tensor) &&
           std::ranges::none_of(optimizer.no_decay, [&](const std::string& group) {
               return group_has(group, tensor);
           });
}

std::optional<std::string> no_decay_fault(const RunConfig& config) {
    const std::vector<std::string>& groups = config.optimizer.no_decay;
    for (auto group = groups.begin(); group != groups.end(); ++group) {
        const std::optional<std::uint32_t> layer = layer_of(*group);
        const bool known = layer ? *layer < config.model.layers
                                 : std::ranges::find(kDecayGroups, *group, &DecayGroup::name) !=
                                       kDecayGroups.end();
        if (!known) {
            const std::string last = std::to_string(config.model.layers - 1);
            return "names \"" + *group + "\"; the groups are " +
                   names_with(last == "0" ? "layers.0" : "layers.0 to layers." + last);
        }
        if (std::find(groups.begin(), group, *group) != group) {
            return "names \"" + *group + "\" twice";
        }
    }
    const auto names = [&](std::string_view name) {
        return std::ranges::find(groups, name) != groups.end();
    };
    if (config.model.tied_embeddings && names("embed") != names("head")) {
        return "must name embed and head together where model.tied_embeddings is true: they are "
               "one matrix";
    }
    return std::nullopt;
}

}  // namespace swarm::run
