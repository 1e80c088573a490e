// Where the tensors of our names lie in files of other formats.
//   ours                     GGUF                          Hugging Face
//   layers.17.attn.wq        blk.17.attn_q.weight          model.layers.17.self_attn.q_proj.weight
//   layers.17.moe.3.w1       rows of                       model.layers.17.mlp.experts.3
//                            blk.17.ffn_gate_exps.weight   .gate_proj.weight
// A file may have several of our matrices as one, one below the other: those of Phi-3 (q, k, v) and
// (gate, up), and in GGUF all experts of a layer. Threading: pure. Errors: Malformed
// (another shape); Reject. The names must be those of tensors_of().
#pragma once

#include "stacking/models/model_source.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace stacking::models {

enum class Naming { Gguf, HuggingFace };

struct TensorPlace {
    std::string name;                  // the name that the file has
    std::vector<std::uint32_t> whole;  // its shape, row-major
    std::uint64_t first_row = 0;       // rows of it before ours
};

TensorPlace place_of(
    const swarm::run::TensorSpec& ours, const Architecture& architecture, Naming naming
);

/// Returns our tensor, which is the file's tensor `whole` or a part of it. Returns Malformed when
/// that has another shape than the place says.
swarm::Result<StoredTensor> cut(
    const StoredTensor& whole, const TensorPlace& place, const swarm::run::TensorSpec& ours
);

}  // namespace stacking::models
