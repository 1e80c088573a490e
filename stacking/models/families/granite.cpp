// Granite 3: a Llama with scales of its embedding, of its attention, of each part and of its
// logits.
#include "stacking/models/families/common.hpp"

#include <cmath>

namespace stacking::models {

namespace {

void read_granite(ConfigMembers& members, Architecture& found) {
    Traits& traits = found.traits;
    read_biases(members, found);
    traits.embedding_scale = members.real("embedding_multiplier", 1);
    traits.residual_scale = members.real("residual_multiplier", 1);
    traits.attention_scale = members.real("attention_multiplier", 1);
    if (traits.attention_scale == 0) {
        members.fail("attention_multiplier is 0");
    }
    traits.logit_scale = 1 / members.real("logits_scaling", 1);
}

void read_granite_keys(GgufKeys& keys, Architecture& found) {
    Traits& traits = found.traits;
    traits.embedding_scale = keys.real_or(".embedding_scale", 1);
    traits.residual_scale = keys.real_or(".residual_scale", 1);
    traits.attention_scale = keys.real_or(".attention.scale", 0);
    traits.logit_scale = 1 / keys.real_or(".logit_scale", 1);
    keys.require(
        keys.boolean_or(".rope.scaling.finetuned", true),
        swarm::ErrorCode::Unsupported,
        "a Granite without rotary positions is not supported"
    );
}

void write_granite(const Architecture& architecture, boost::json::object& config) {
    const Traits& traits = architecture.traits;
    write_biases(architecture, config);
    config["embedding_multiplier"] = traits.embedding_scale;
    config["residual_multiplier"] = traits.residual_scale;
    // A file without a scale means the usual one; here it has to be said.
    const double usual = 1 / std::sqrt(static_cast<double>(architecture.head_width()));
    config["attention_multiplier"] = traits.attention_scale == 0 ? usual : traits.attention_scale;
    config["logits_scaling"] = 1 / traits.logit_scale;
}

}  // namespace

constinit const Family kGranite{
    .name = "granite",
    .class_name = "GraniteForCausalLM",
    .gguf = "granite",
    .begin_token = 1,
    .end_token = 2,
    .gguf_interleaves = true,
    .read_config = read_granite,
    .read_keys = read_granite_keys,
    .write_config = write_granite};

}  // namespace stacking::models
