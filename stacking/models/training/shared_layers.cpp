#include "stacking/models/training/shared_layers.hpp"

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace stacking::models {
namespace {

constexpr std::string_view kLayerPrefix = "layers.";

struct LayerName {
    std::uint32_t layer = 0;
    std::string_view rest;  // ".attn.wq"
};

/// Returns nullopt for a tensor that belongs to no layer.
std::optional<LayerName> layer_name_of(std::string_view tensor) {
    if (!tensor.starts_with(kLayerPrefix)) {
        return std::nullopt;
    }
    tensor.remove_prefix(kLayerPrefix.size());
    LayerName found;
    const char* const end = tensor.data() + tensor.size();
    const auto parsed = std::from_chars(tensor.data(), end, found.layer);
    if (parsed.ec != std::errc{} || parsed.ptr == end || *parsed.ptr != '.') {
        return std::nullopt;
    }
    found.rest = tensor.substr(static_cast<std::size_t>(parsed.ptr - tensor.data()));
    return found;
}

std::string prefix_of(std::uint64_t layer) {
    return std::string(kLayerPrefix) + std::to_string(layer);
}

}  // namespace

ModelSource::Tensors with_repeated_layers(ModelSource::Tensors tensors, std::uint32_t repeat) {
    if (repeat == 1) {
        return tensors;
    }
    ModelSource::Tensors all;
    for (auto& [name, tensor] : tensors) {
        const auto place = layer_name_of(name);
        for (std::uint32_t use = 0; place && use < repeat; ++use) {
            const std::uint64_t layer = std::uint64_t{place->layer} * repeat + use;
            all.emplace(prefix_of(layer) + std::string(place->rest), tensor);
        }
        if (!place) {
            all.emplace(name, std::move(tensor));
        }
    }
    return all;
}

std::optional<std::uint32_t> layer_of_tensor(std::string_view name) {
    const auto place = layer_name_of(name);
    return place ? std::optional(place->layer) : std::nullopt;
}

bool is_same_tensor(const StoredTensor& left, const StoredTensor& right) {
    return left.file == right.file && left.offset == right.offset && left.bytes == right.bytes &&
           left.type == right.type && left.shape == right.shape &&
           left.interleaved_heads == right.interleaved_heads && left.added == right.added &&
           left.adapter == right.adapter && left.scales.values.empty() &&
           right.scales.values.empty();
}

bool repeats_layer_before(const ModelSource& model, std::uint32_t layer) {
    if (layer == 0) {
        return false;
    }
    const ModelSource::Tensors& all = model.tensors();
    const std::string own = prefix_of(layer) + ".";
    bool has_tensors = false;
    for (auto at = all.lower_bound(own); at != all.end() && at->first.starts_with(own); ++at) {
        const std::string name = prefix_of(layer - 1) + "." + at->first.substr(own.size());
        const auto before = all.find(name);
        if (before == all.end() || !is_same_tensor(at->second, before->second)) {
            return false;
        }
        has_tensors = true;
    }
    return has_tensors;
}

std::uint32_t layers_of_their_own(const ModelSource& model) {
    std::uint32_t count = 0;
    for (std::uint32_t layer = 0; layer < model.architecture().model.layers; ++layer) {
        count += repeats_layer_before(model, layer) ? 0 : 1;
    }
    return count;
}

}  // namespace stacking::models
