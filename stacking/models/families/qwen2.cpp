// Qwen2, Qwen2.5 and Qwen2-MoE: a Llama with biases of q, k and v. The mixture has an expert for
// all tokens, too, whose share a gate of its own says.
#include "stacking/models/families/common.hpp"

#include <boost/json/array.hpp>

namespace stacking::models {

namespace {

constexpr const char* kQwen2Experts = "num_experts";

void read_qwen2(ConfigMembers& members, Architecture& found) {
    found.traits.query_key_value_bias = true;
    read_qwen_windows(members, found);
}

void read_qwen2_mixture(ConfigMembers& members, Architecture& found) {
    found.traits.query_key_value_bias = members.boolean("qkv_bias", true);
    read_qwen_mixture_windows(members, found);
    read_experts(members, kQwen2Experts, found);
    found.traits.experts.shared_width = members.count("shared_expert_intermediate_size");
    found.traits.experts.renormalise = members.boolean("norm_topk_prob", false);
    members.require("decoder_sparse_step", 1);
    members.require("mlp_only_layers", boost::json::array{});
}

void write_qwen2_mixture(const Architecture& architecture, boost::json::object& config) {
    const Experts& experts = architecture.traits.experts;
    write_qwen_windows(architecture, config);
    write_experts(architecture, kQwen2Experts, config);
    config["moe_intermediate_size"] = architecture.model.ffn_width;
    config["shared_expert_intermediate_size"] = experts.shared_width;
    config["norm_topk_prob"] = experts.renormalise;
    config["qkv_bias"] = architecture.traits.query_key_value_bias;
    config["decoder_sparse_step"] = 1;
}

}  // namespace

constinit const Family kQwen2{
    .name = "qwen2",
    .class_name = "Qwen2ForCausalLM",
    .gguf = "qwen2",
    .kv_heads = 32,
    .context = 32'768,
    .read_config = read_qwen2,
    .read_keys = no_keys,
    .write_config = write_qwen_windows};

constinit const Family kQwen2Moe{
    .name = "qwen2_moe",
    .class_name = "Qwen2MoeForCausalLM",
    .gguf = "qwen2moe",
    .kv_heads = 16,
    .context = 32'768,
    .read_config = read_qwen2_mixture,
    .read_keys = no_keys,
    .write_config = write_qwen2_mixture};

}  // namespace stacking::models
