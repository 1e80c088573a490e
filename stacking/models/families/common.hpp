// Parts that several families read and write in the same way.
// Threading: pure functions. Errors: those of ConfigMembers.
#pragma once

#include "stacking/models/families/config_members.hpp"
#include "stacking/models/families/family.hpp"
#include "stacking/models/families/gguf_keys.hpp"

namespace stacking::models {

// The functions of families that have nothing of their own to read or write.
inline void read_nothing(ConfigMembers& /*members*/, Architecture& /*found*/) {}

inline void no_keys(GgufKeys& /*keys*/, Architecture& /*found*/) {}

inline void write_nothing(const Architecture& /*from*/, boost::json::object& /*config*/) {}

/// "attention_bias": biases of q, k, v and of the output. Refuses "mlp_bias".
void read_biases(ConfigMembers& members, Architecture& found);
void write_biases(const Architecture& architecture, boost::json::object& config);

using Slides = bool (*)(std::uint32_t layer);

/// The window of most families where config.json lacks "sliding_window".
inline constexpr std::uint32_t kUsualWindow = 4096;

/// Gives the layers that "layer_types" calls sliding_attention a window of "sliding_window"
/// positions; without "layer_types" those for which `slides` holds. A null as the window is refused
/// when a layer slides.
void read_windows(ConfigMembers& members, Slides slides, Architecture& found);

/// Gives every layer a window of "sliding_window" positions, or of `missing`; 0 is none. A null is
/// none, too. These families know no "layer_types", so a list that differs is refused.
void read_one_window(ConfigMembers& members, std::uint32_t missing, Architecture& found);
void write_windows(const Architecture& architecture, boost::json::object& config);

/// The same from ".attention.sliding_window".
void read_window_key(GgufKeys& keys, Slides slides, Architecture& found);

/// Reads "use_sliding_window"; without it, no layer may slide.
[[nodiscard]] bool uses_windows(ConfigMembers& members, const Architecture& found);

/// "use_sliding_window", "sliding_window" and "max_window_layers" of Qwen2 and Qwen3.
void read_qwen_windows(ConfigMembers& members, Architecture& found);
/// The same of Qwen2-MoE, in which every other layer below "max_window_layers" slides.
void read_qwen_mixture_windows(ConfigMembers& members, Architecture& found);
void write_qwen_windows(const Architecture& architecture, boost::json::object& config);

/// Experts in every layer: their number under `count_key` or its other name,
/// "num_experts_per_tok" and, if it is there, "moe_intermediate_size".
void read_experts(ConfigMembers& members, const char* count_key, Architecture& found);
void write_experts(
    const Architecture& architecture, const char* count_key, boost::json::object& config
);

}  // namespace stacking::models
