#include "stacking/models/families/common.hpp"

#include <boost/json/array.hpp>

#include <algorithm>
#include <vector>

namespace stacking::models {

namespace json = boost::json;
using swarm::ErrorCode;

namespace {

constexpr std::string_view kSliding = "sliding_attention";
constexpr std::string_view kFull = "full_attention";

/// Returns which layers slide; a fault gives an empty list.
std::vector<bool> sliding_layers(ConfigMembers& members, Slides slides, std::uint32_t layers) {
    std::vector<bool> sliding;
    const json::value* const types = members.find("layer_types");
    if (types == nullptr) {
        for (std::uint32_t layer = 0; layer < layers; ++layer) {
            sliding.push_back(slides(layer));
        }
        return sliding;
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

void set_windows(const std::vector<bool>& sliding, std::uint32_t window, Architecture& found) {
    if (std::ranges::find(sliding, true) == sliding.end()) {
        return;
    }
    found.traits.layers.resize(sliding.size());
    for (std::size_t layer = 0; layer < sliding.size(); ++layer) {
        found.traits.layers[layer].window = sliding[layer] ? window : 0;
    }
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
    const std::vector<bool> sliding = sliding_layers(members, slides, found.model.layers);
    if (members.find("sliding_window") != nullptr) {
        set_windows(sliding, members.count("sliding_window"), found);
    }
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
    std::vector<bool> sliding;
    for (std::uint32_t layer = 0; layer < found.model.layers; ++layer) {
        sliding.push_back(slides(layer));
    }
    set_windows(sliding, window, found);
}

void read_qwen_windows(ConfigMembers& members, Architecture& found) {
    if (!members.boolean("use_sliding_window", false)) {
        return;
    }
    constexpr std::uint32_t kFirstSliding = 28;
    const std::uint32_t first = members.count("max_window_layers", kFirstSliding);
    read_windows(
        members, [](std::uint32_t /*layer*/) { return true; }, found
    );
    if (members.find("layer_types") == nullptr && !found.traits.layers.empty()) {
        for (std::uint32_t layer = 0; layer < std::min(first, found.model.layers); ++layer) {
            found.traits.layers[layer].window = 0;
        }
    }
}

void write_qwen_windows(const Architecture& architecture, json::object& config) {
    write_windows(architecture, config);
    config["use_sliding_window"] = !architecture.traits.layers.empty();
    config["max_window_layers"] = architecture.model.layers;
}

void read_experts(ConfigMembers& members, const char* count_key, Architecture& found) {
    found.traits.experts.count = members.count(count_key);
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
