// OLMo 2 (arXiv 2501.00656) has norms after each part only, OLMoE (arXiv 2409.02060) experts. Both
// normalise the queries of all heads together, and the keys likewise.
#include "stacking/models/families/common.hpp"

namespace stacking::models {

namespace {

constexpr const char* kOlmoExperts = "num_experts";

void read_olmo2(ConfigMembers& members, Architecture& found) {
    found.traits.norms = NormPlace::After;
    found.traits.query_key_norm = QueryKeyNorm::Rows;
    read_biases(members, found);
}

void read_olmo2_keys(GgufKeys& /*keys*/, Architecture& found) {
    found.traits.norms = NormPlace::After;
    found.traits.query_key_norm = QueryKeyNorm::Rows;
}

void read_olmo_mixture(ConfigMembers& members, Architecture& found) {
    found.traits.query_key_norm = QueryKeyNorm::Rows;
    read_biases(members, found);
    read_experts(members, kOlmoExperts, found);
    found.traits.experts.renormalise = members.boolean("norm_topk_prob", false);
    if (members.find("clip_qkv") != nullptr) {
        members.fail("clip_qkv is not supported", swarm::ErrorCode::Unsupported);
    }
}

void read_olmo_mixture_keys(GgufKeys& keys, Architecture& found) {
    found.traits.query_key_norm = QueryKeyNorm::Rows;
    found.traits.experts.renormalise = keys.boolean_or(".expert_weights_norm", false);
}

void write_olmo_mixture(const Architecture& architecture, boost::json::object& config) {
    write_biases(architecture, config);
    write_experts(architecture, kOlmoExperts, config);
    config["norm_topk_prob"] = architecture.traits.experts.renormalise;
}

}  // namespace

constinit const Family kOlmo2{
    .name = "olmo2",
    .class_name = "Olmo2ForCausalLM",
    .gguf = "olmo2",
    .norm_epsilon = 1e-5,
    .end_token = 50'279,
    .read_config = read_olmo2,
    .read_keys = read_olmo2_keys,
    .write_config = write_biases};

constinit const Family kOlmoe{
    .name = "olmoe",
    .class_name = "OlmoeForCausalLM",
    .gguf = "olmoe",
    .norm_epsilon = 1e-5,
    .context = 4096,
    .end_token = 50'279,
    .read_config = read_olmo_mixture,
    .read_keys = read_olmo_mixture_keys,
    .write_config = write_olmo_mixture};

}  // namespace stacking::models
