// Qwen3 and Qwen3-MoE: norms of each head's queries and keys, and heads of a width of their own.
#include "stacking/models/families/common.hpp"

#include <boost/json/array.hpp>

namespace stacking::models {

namespace {

constexpr std::uint32_t kQwen3HeadWidth = 128;
constexpr const char* kQwen3Experts = "num_experts";

void read_qwen3_common(ConfigMembers& members, Architecture& found) {
    found.traits.query_key_norm = QueryKeyNorm::Heads;
    read_biases(members, found);
}

void read_qwen3(ConfigMembers& members, Architecture& found) {
    read_qwen3_common(members, found);
    read_qwen_windows(members, found);
}

void read_qwen3_keys(GgufKeys& keys, Architecture& found) {
    found.traits.query_key_norm = QueryKeyNorm::Heads;
    // llama.cpp renormalises in every model of this architecture unless the file says otherwise.
    found.traits.experts.renormalise =
        found.traits.experts.count > 0 && keys.boolean_or(".expert_weights_norm", true);
}

void write_qwen3(const Architecture& architecture, boost::json::object& config) {
    write_biases(architecture, config);
    write_qwen_windows(architecture, config);
}

void read_qwen3_mixture(ConfigMembers& members, Architecture& found) {
    read_qwen3_common(members, found);
    if (uses_windows(members, found)) {
        read_one_window(members, kUsualWindow, found);
    }
    read_experts(members, kQwen3Experts, found);
    found.traits.experts.renormalise = members.boolean("norm_topk_prob", false);
    members.require("decoder_sparse_step", 1);
    members.require("mlp_only_layers", boost::json::array{});
}

void write_qwen3_mixture(const Architecture& architecture, boost::json::object& config) {
    write_qwen3(architecture, config);
    write_experts(architecture, kQwen3Experts, config);
    config["moe_intermediate_size"] = architecture.model.ffn_width;
    config["norm_topk_prob"] = architecture.traits.experts.renormalise;
    config["decoder_sparse_step"] = 1;
    config["mlp_only_layers"] = boost::json::array{};
}

}  // namespace

constinit const Family kQwen3{
    .name = "qwen3",
    .class_name = "Qwen3ForCausalLM",
    .gguf = "qwen3",
    .head_width = kQwen3HeadWidth,
    .kv_heads = 32,
    .context = 32'768,
    .read_config = read_qwen3,
    .read_keys = read_qwen3_keys,
    .write_config = write_qwen3};

constinit const Family kQwen3Moe{
    .name = "qwen3_moe",
    .class_name = "Qwen3MoeForCausalLM",
    .gguf = "qwen3moe",
    .kv_heads = 4,
    .context = 32'768,
    .read_config = read_qwen3_mixture,
    .read_keys = read_qwen3_keys,
    .write_config = write_qwen3_mixture};

}  // namespace stacking::models
