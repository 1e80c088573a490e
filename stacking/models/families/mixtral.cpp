// Mixtral (arXiv 2401.04088): a Mistral with experts, whose chosen probabilities are renormalised.
// In GGUF it is a Llama with experts.
#include "stacking/models/families/common.hpp"

namespace stacking::models {

namespace {

constexpr double kMixtralRopeBase = 1e6;
constexpr const char* kMixtralExperts = "num_local_experts";

void read_mixtral(ConfigMembers& members, Architecture& found) {
    read_one_window(members, 0, found);
    read_experts(members, kMixtralExperts, found);
    found.traits.experts.renormalise = true;
}

void read_mixtral_keys(GgufKeys& keys, Architecture& found) {
    read_window_key(
        keys, [](std::uint32_t /*layer*/) { return true; }, found
    );
    found.traits.experts.renormalise = true;
}

void write_mixtral(const Architecture& architecture, boost::json::object& config) {
    write_windows(architecture, config);
    config.erase("layer_types");
    write_experts(architecture, kMixtralExperts, config);
}

}  // namespace

constinit const Family kMixtral{
    .name = "mixtral",
    .class_name = "MixtralForCausalLM",
    .gguf = "llama",
    .rope_base = kMixtralRopeBase,
    .norm_epsilon = 1e-5,
    .kv_heads = 8,
    .context = 131'072,
    .begin_token = 1,
    .end_token = 2,
    .gguf_interleaves = true,
    .experts_of_mixtral = true,
    .read_config = read_mixtral,
    .read_keys = read_mixtral_keys,
    .write_config = write_mixtral};

}  // namespace stacking::models
