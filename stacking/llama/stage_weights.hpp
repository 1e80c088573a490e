// The weights of consecutive layers of a Llama, packed for the kernels.
// Invariant: a layer's weights are the same whatever the split: packing looks
// at one row at a time. Matrices that read the same input stand in one: (q, k,
// v), and (gate, up). In int8 and bf16 the embedding and the head are of that
// format, too, so a tied model keeps one matrix for both: its first stage has a
// head, and its last one an embedding. Threading: const and
// any thread; shared by all who compute with it. Errors: those of ModelSource
// (NotFinite among them), Full when memory ends; Reject. Cost: reads each row
// of the stage's tensors once, kReadFloats at a time.
#pragma once

#include "stacking/kernels/packed_matrix.hpp"
#include "stacking/models/model_source.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace stacking::llama {

struct LayerWeights {
    std::vector<float> attention_norm;      // (C)
    kernels::PackedMatrix query_key_value;  // (C + 2 x key/value width, C)
    kernels::PackedMatrix attention_out;    // (C, C)
    std::vector<float> ffn_norm;            // (C)
    kernels::PackedMatrix gate_up;          // (2 F, C)
    kernels::PackedMatrix down;             // (C, F)
};

struct StageWeights {
    swarm::run::ModelConfig model;
    kernels::WeightFormat format = kernels::WeightFormat::Fp32;
    bool first = false;  // begins with layer 0, or ends with the last one
    bool last = false;
    std::vector<LayerWeights> layers;
    std::shared_ptr<const kernels::PackedMatrix> embedding;  // (V, C); at the first stage
    std::shared_ptr<const kernels::PackedMatrix> head;       // (V, C); at the last stage
    std::vector<float> head_norm;                            // (C); where the head is
};

/// `layout`: one of models::split() for this model. `exits`: with the model's head wherever it is,
/// so that a token's path may end there.
swarm::Result<std::shared_ptr<const StageWeights>> load_stage(
    const models::ModelSource& source,
    const swarm::run::StageLayout& layout,
    kernels::WeightFormat format,
    bool exits = false
);

}  // namespace stacking::llama
