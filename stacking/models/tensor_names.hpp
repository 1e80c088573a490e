// The names that model files use for the tensors that we call "layers.17.attn.wq".
// Threading: pure functions. Errors: none; the name must be one of ours (SWARM_ASSERT).
#pragma once

#include <string>
#include <string_view>

namespace stacking::models {

enum class Naming { Gguf, HuggingFace };

/// Returns a name such as "blk.17.attn_q.weight" or "model.layers.17.self_attn.q_proj.weight".
std::string foreign_name(std::string_view ours, Naming naming);

}  // namespace stacking::models
