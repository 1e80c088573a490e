// SmolLM3: a Llama in which some layers have no rotary positions.
#include "stacking/models/families/common.hpp"

#include <boost/json/array.hpp>

namespace stacking::models {

namespace {

constexpr double kSmolLm3RopeBase = 2e6;
constexpr std::uint32_t kSmolLm3Interval = 4;  // every fourth layer has none

void set_ropes(const std::vector<bool>& rotated, Architecture& found) {
    found.traits.layers.resize(rotated.size());
    for (std::size_t layer = 0; layer < rotated.size(); ++layer) {
        found.traits.layers[layer].rope = rotated[layer] ? RopeUse::Main : RopeUse::None;
    }
}

std::vector<bool> by_interval(std::uint32_t layers, std::uint32_t interval) {
    std::vector<bool> rotated;
    for (std::uint32_t layer = 0; layer < layers; ++layer) {
        rotated.push_back((layer + 1) % interval != 0);
    }
    return rotated;
}

void read_smollm3(ConfigMembers& members, Architecture& found) {
    read_biases(members, found);
    members.require("use_sliding_window", false);
    static_cast<void>(uses_windows(members, found));  // refuses layers that slide all the same
    const std::uint32_t interval = members.count("no_rope_layer_interval", kSmolLm3Interval);
    const boost::json::value* const list = members.find("no_rope_layers");
    if (list == nullptr) {
        if (interval == 0) {
            members.fail("no_rope_layer_interval is 0");
            return;
        }
        set_ropes(by_interval(found.model.layers, interval), found);
        return;
    }
    // In spite of its name, the list says 1 for layers that have rotary positions.
    if (!list->is_array() || list->get_array().size() != found.model.layers) {
        members.fail("no_rope_layers is no list of as many numbers as layers");
        return;
    }
    std::vector<bool> rotated;
    for (const boost::json::value& entry : list->get_array()) {
        rotated.push_back(
            entry.is_bool() ? entry.get_bool() : members.to_count("no_rope_layers", entry) != 0
        );
    }
    set_ropes(rotated, found);
}

void read_smollm3_keys(GgufKeys& /*keys*/, Architecture& found) {
    set_ropes(by_interval(found.model.layers, kSmolLm3Interval), found);
}

void write_smollm3(const Architecture& architecture, boost::json::object& config) {
    write_biases(architecture, config);
    boost::json::array rotated;
    for (std::uint32_t layer = 0; layer < architecture.model.layers; ++layer) {
        rotated.emplace_back(architecture.attention_of(layer).rope == RopeUse::None ? 0 : 1);
    }
    config["no_rope_layers"] = std::move(rotated);
    config["use_sliding_window"] = false;
}

}  // namespace

constinit const Family kSmolLm3{
    .name = "smollm3",
    .class_name = "SmolLM3ForCausalLM",
    .gguf = "smollm3",
    .rope_base = kSmolLm3RopeBase,
    .tied_embeddings = true,
    .kv_heads = 4,
    .context = 32'768,
    .begin_token = 128'000,
    .end_token = 128'001,
    .gguf_interleaves = true,
    .read_config = read_smollm3,
    .read_keys = read_smollm3_keys,
    .write_config = write_smollm3};

}  // namespace stacking::models
