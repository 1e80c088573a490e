#include "swarm/run/training/tensor_groups.hpp"

#include "swarm/run/training/mixture.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

namespace swarm::run {
namespace {

constexpr std::string_view kLayerPrefix = "layers.";

struct NamedGroup {
    std::string_view name;
    bool (*has)(const TensorSpec& tensor);
};

bool contains(const TensorSpec& tensor, std::string_view part) {
    return tensor.name.find(part) != std::string::npos;
}

constexpr std::array<NamedGroup, 8> kNamedGroups{{
    {"embed", [](const TensorSpec& tensor) { return tensor.name == kEmbeddingTensor; }},
    {"head", [](const TensorSpec& tensor) { return tensor.name == kHeadTensor; }},
    {"norms", [](const TensorSpec& tensor) { return tensor.name.ends_with("norm"); }},
    {"bias", [](const TensorSpec& tensor) { return contains(tensor, ".attn.b"); }},
    {"attn", [](const TensorSpec& tensor) { return contains(tensor, ".attn."); }},
    {"mlp", [](const TensorSpec& tensor) { return contains(tensor, ".mlp."); }},
    {"experts", [](const TensorSpec& tensor) { return is_expert(tensor.name); }},
    {"router", [](const TensorSpec& tensor) { return is_router(tensor.name); }},
}};

/// Layers, both ends included.
struct LayerRange {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
};

/// Reads a whole number without zeros in front from the begin of the text.
std::optional<std::uint32_t> take_number(std::string_view& text) {
    std::uint32_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    const auto digits = static_cast<std::size_t>(rest - text.data());
    if (error != std::errc{} || (text.front() == '0' && digits > 1)) {
        return std::nullopt;
    }
    text.remove_prefix(digits);
    return number;
}

/// The layers of "layers.3" or "layers.0-7"; nullopt for every other name.
std::optional<LayerRange> layers_of_group(std::string_view group) {
    if (!group.starts_with(kLayerPrefix)) {
        return std::nullopt;
    }
    group.remove_prefix(kLayerPrefix.size());
    const std::optional<std::uint32_t> first = take_number(group);
    if (!first || group.empty()) {
        return first ? std::optional(LayerRange{*first, *first}) : std::nullopt;
    }
    if (group.front() != '-') {
        return std::nullopt;
    }
    group.remove_prefix(1);
    const std::optional<std::uint32_t> last = take_number(group);
    const bool whole = last && group.empty() && *first < *last;
    return whole ? std::optional(LayerRange{*first, *last}) : std::nullopt;
}

/// The layer of "layers.3.attn.wq"; nullopt for a tensor outside the layers.
std::optional<std::uint32_t> layer_of_tensor(std::string_view name) {
    if (!name.starts_with(kLayerPrefix)) {
        return std::nullopt;
    }
    name.remove_prefix(kLayerPrefix.size());
    return take_number(name);
}

std::string group_names(const ModelConfig& model) {
    std::string names;
    for (const NamedGroup& group : kNamedGroups) {
        names += (names.empty() ? "" : ", ") + std::string(group.name);
    }
    const std::string last = std::to_string(model.layers - 1);
    return names + " and " + (last == "0" ? "layers.0" : "layers.0 to layers." + last);
}

}  // namespace

bool is_in_group(std::string_view group, const TensorSpec& tensor) {
    if (const auto layers = layers_of_group(group)) {
        const std::optional<std::uint32_t> layer = layer_of_tensor(tensor.name);
        return layer && layers->first <= *layer && *layer <= layers->last;
    }
    const auto* const found = std::ranges::find(kNamedGroups, group, &NamedGroup::name);
    return found != kNamedGroups.end() && found->has(tensor);
}

std::optional<std::string> groups_fault(
    std::span<const std::string> groups, const ModelConfig& model
) {
    for (auto group = groups.begin(); group != groups.end(); ++group) {
        const std::optional<LayerRange> layers = layers_of_group(*group);
        const bool known = layers ? layers->last < model.layers
                                  : std::ranges::find(kNamedGroups, *group, &NamedGroup::name) !=
                                        kNamedGroups.end();
        if (!known) {
            return "names \"" + *group + "\"; the groups are " + group_names(model);
        }
        if (std::find(groups.begin(), group, *group) != group) {
            return "names \"" + *group + "\" twice";
        }
    }
    const auto names = [&](std::string_view name) {
        return std::ranges::find(groups, name) != groups.end();
    };
    if (model.tied_embeddings && names("embed") != names("head")) {
        return "must name embed and head together where model.tied_embeddings is true: they are "
               "one matrix";
    }
    return std::nullopt;
}

}  // namespace swarm::run
