// Llama 1 to 3.x, and models that call themselves one: TinyLlama, SmolLM and SmolLM2, Yi.
#include "stacking/models/families/common.hpp"

namespace stacking::models {

namespace {

/// In GGUF a Mistral is a Llama.
void read_llama_keys(GgufKeys& keys, Architecture& found) {
    read_window_key(
        keys, [](std::uint32_t /*layer*/) { return true; }, found
    );
}

}  // namespace

constinit const Family kLlama{
    .name = "llama",
    .class_name = "LlamaForCausalLM",
    .gguf = "llama",
    .begin_token = 1,
    .end_token = 2,
    .gguf_interleaves = true,
    .read_config = read_biases,
    .read_keys = read_llama_keys,
    .write_config = write_biases};

}  // namespace stacking::models
