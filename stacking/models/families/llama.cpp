// Llama 1 to 3.x, and models that call themselves one: TinyLlama, SmolLM and SmolLM2, Yi.
#include "stacking/models/families/common.hpp"

namespace stacking::models {

constinit const Family kLlama{
    .name = "llama",
    .class_name = "LlamaForCausalLM",
    .gguf = "llama",
    .gguf_interleaves = true,
    .read_config = read_biases,
    .read_keys = no_keys,
    .write_config = write_biases};

}  // namespace stacking::models
