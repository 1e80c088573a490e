// Phi-3, Phi-3.5 and Phi-4-mini: fused matrices, LongRoPE, heads that are rotated in part.
#include "stacking/models/families/common.hpp"

namespace stacking::models {

namespace {

bool phi3_slides(std::uint32_t /*layer*/) {
    return true;
}

void read_phi3(ConfigMembers& members, Architecture& found) {
    read_biases(members, found);
    read_one_window(members, 0, found);
}

void read_phi3_keys(GgufKeys& keys, Architecture& found) {
    read_window_key(keys, phi3_slides, found);
}

void write_phi3(const Architecture& architecture, boost::json::object& config) {
    write_windows(architecture, config);
    config.erase("layer_types");
    const RopeScaling& rope = architecture.traits.rope;
    if (rope.kind == RopeScaling::Kind::Divisors) {
        config["original_max_position_embeddings"] =
            rope.original_context > 0 ? rope.original_context : architecture.model.context;
    }
}

}  // namespace

constinit const Family kPhi3{
    .name = "phi3",
    .class_name = "Phi3ForCausalLM",
    .gguf = "phi3",
    .norm_epsilon = 1e-5,
    .context = 4096,
    .begin_token = 1,
    .end_token = 32'000,
    .partial_rotation = true,
    .only_long_rope = true,
    .fused_matrices = true,
    .read_config = read_phi3,
    .read_keys = read_phi3_keys,
    .write_config = write_phi3};

}  // namespace stacking::models
