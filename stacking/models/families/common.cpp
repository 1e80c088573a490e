#include "stacking/models/families/common.hpp"

#include <boost/json/array.hpp>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

namespace stacking::models {

namespace json = boost::json;
using swarm::ErrorCode;

namespace {

constexpr std::string_view kSliding = "sliding_attention";
constexpr std::string_view kFull = "full_attention";
constexpr std::uint32_t kWindowLayers = 28;  // "max_window_layers" of Qwen where it is absent

template <class Each>
std::vector<bool> by_layer(std::uint32_t layers, const Each& slides) {
    std::vector<bool> sliding;
    for (std::uint32_t layer = 0; layer < layers; ++layer) {
        sliding.push_back(slides(layer));
    }
    return sliding;
}

/// Returns which layers slide; a fault gives an empty list.
template <class Each>
std::vector<bool> sliding_layers(ConfigMembers& members, const Each& slides, std::uint32_t layers) {
    std::vector<bool> sliding;
    const json::value* const types = members.find("layer_types");
    if (types == nullptr) {
        return by_layer(layers, slides);
    }
    if (!types->is_array() || types->get_array().size() != layers) {
        members.fail("layer_types is no list of as many texts as layers");
        return sliding;
    }
    for (const json::value& type : types->get_array()) {
        const json::string* const text = type.if_string();
        const bool slide = text != nullptr && *text == kSliding;
        if (!slide && (text == nullptr || *text != kFull)) {
            members.fail(
                "layer_types has another entry than full_attention and sliding_attention",
                ErrorCode::Unsupported
            );
            return {};
        }
        sliding.push_back(slide);
    }
    return sliding;
}

bool any(const std::vector<bool>& sliding) {
    return std::ranges::find(sliding, true) != sliding.end();
}

/// Reads "sliding_window"; nullopt: it is null.
std::optional<std::uint32_t> read_window(ConfigMembers& members, std::uint32_t missing) {
    if (members.find("sliding_window") == nullptr) {
        return members.has("sliding_window") ? std::nullopt : std::optional(missing);
    }
    const std::uint32_t window = members.count("sliding_window");
    if (window == 0) {
        members.fail("sliding_window is 0");
    }
    return window;
}

void set_windows(const std::vector<bool>& sliding, std::uint32_t window, Architecture& found) {
    if (!any(sliding)) {
        return;
    }
    found.traits.layers.resize(sliding.size());
    for (std::size_t layer = 0; layer < sliding.size(); ++layer) {
        found.traits.layers[layer].window = sliding[layer] ? window : 0;
    }
}

template <class Each>
void read_windows_of(ConfigMembers& members, const Each& slides, Architecture& found) {
    const std::vector<bool> sliding = sliding_layers(members, slides, found.model.layers);
    if (!any(sliding)) {
        return;
    }
    const std::optional<std::uint32_t> window = read_window(members, kUsualWindow);
    if (!window) {
        members.fail("sliding_window is null, and layers slide");
        return;
    }
    set_windows(sliding, *window, found);
}

}  // namespace

void read_biases(ConfigMembers& members, Architecture& found) {
    const bool biased = members.boolean("attention_bias", false);
    found.traits.query_key_value_bias = biased;
    found.traits.attention_out_bias = biased;
    members.require("mlp_bias", false);
}

void write_biases(const Architecture& architecture, json::object& config) {
    config["attention_bias"] = architecture.traits.query_key_value_bias;
    config["mlp_bias"] = false;
}

void read_windows(ConfigMembers& members, Slides slides, Architecture& found) {
    read_windows_of(members, slides, found);
}

void read_one_window(ConfigMembers& members, std::uint32_t missing, Architecture& found) {
    const std::uint32_t window = read_window(members, missing).value_or(0);
    if (window == 0) {
        return;
    }
    const auto always = [](std::uint32_t /*layer*/) { return true; };
    const std::vector<bool> sliding = sliding_layers(members, always, found.model.layers);
    if (std::ranges::find(sliding, false) != sliding.end()) {
        members.fail(
            "layer_types differ, but every layer of this family slides", ErrorCode::Unsupported
        );
        return;
    }
    set_windows(sliding, window, found);
}

void write_windows(const Architecture& architecture, json::object& config) {
    std::uint32_t window = 0;
    json::array types;
    for (std::uint32_t layer = 0; layer < architecture.model.layers; ++layer) {
        const std::uint32_t own = architecture.attention_of(layer).window;
        window = std::max(window, own);
        types.emplace_back(own > 0 ? kSliding : kFull);
    }
    config["sliding_window"] = window > 0 ? json::value(window) : json::value();
    config["layer_types"] = std::move(types);
}

void read_window_key(GgufKeys& keys, Slides slides, Architecture& found) {
    const std::uint32_t window = keys.count_or(".attention.sliding_window", 0);
    if (window == 0) {
        return;
    }
    set_windows(by_layer(found.model.layers, slides), window, found);
}

bool uses_windows(ConfigMembers& members, const Architecture& found) {
    if (members.boolean("use_sliding_window", false)) {
        return true;
    }
    const auto never = [](std::uint32_t /*layer*/) { return false; };
    if (any(sliding_layers(members, never, found.model.layers))) {
        members.fail("layer_types slide, but use_sliding_window is false");
    }
    return false;
}

void read_qwen_windows(ConfigMembers& members, Architecture& found) {
    if (uses_windows(members, found)) {
        const std::uint32_t first = members.count("max_window_layers", kWindowLayers);
        read_windows_of(
            members, [=](std::uint32_t layer) { return layer >= first; }, found
        );
    }
}

void read_qwen_mixture_windows(ConfigMembers& members, Architecture& found) {
    if (uses_windows(members, found)) {
        const std::uint32_t end = members.count("max_window_layers", kWindowLayers);
        read_windows_of(
            members, [=](std::uint32_t layer) { return layer % 2 == 0 && layer < end; }, found
        );
    }
}

void write_qwen_windows(const Architecture& architecture, json::object& config) {
    write_windows(architecture, config);
    config["use_sliding_window"] = !architecture.traits.layers.empty();
    config["max_window_layers"] = architecture.model.layers;
}

void read_experts(ConfigMembers& members, const char* count_key, Architecture& found) {
    // transformers knows the number by both names.
    const std::string_view usual = count_key;
    const char* const other = usual == "num_experts" ? "num_local_experts" : "num_experts";
    const bool renamed = members.find(count_key) == nullptr && members.find(other) != nullptr;
    found.traits.experts.count = members.count(renamed ? other : count_key);
    if (!renamed &&
        members.count(other, found.traits.experts.count) != found.traits.experts.count) {
        members.fail("two different values of num_experts");
    }
    found.traits.experts.chosen = members.count("num_experts_per_tok");
    found.model.ffn_width = members.count("moe_intermediate_size", found.model.ffn_width);
    if (found.traits.experts.count == 0) {
        members.fail(std::string(count_key) + " is 0");
    }
}

void write_experts(const Architecture& architecture, const char* count_key, json::object& config) {
    config[count_key] = architecture.traits.experts.count;
    config["num_experts_per_tok"] = architecture.traits.experts.chosen;
}

}  // namespace stacking::models
