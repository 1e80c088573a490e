// Mistral: a Llama whose first versions see a window in every layer; in GGUF it is a Llama.
#include "stacking/models/families/common.hpp"

namespace stacking::models {

namespace {

void read_mistral(ConfigMembers& members, Architecture& found) {
    read_one_window(members, kUsualWindow, found);
}

void write_mistral(const Architecture& architecture, boost::json::object& config) {
    write_windows(architecture, config);
    config.erase("layer_types");  // transformers takes the window for every layer
}

}  // namespace

constinit const Family kMistral{
    .name = "mistral",
    .class_name = "MistralForCausalLM",
    .gguf = "llama",
    .kv_heads = 8,
    .context = 131'072,
    .begin_token = 1,
    .end_token = 2,
    .gguf_interleaves = true,
    .read_config = read_mistral,
    .read_keys = no_keys,
    .write_config = write_mistral};

}  // namespace stacking::models
