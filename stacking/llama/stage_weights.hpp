// The weights of consecutive layers of a Llama, packed for the kernels.
// Invariant: the packed weights of a layer do not depend on the split, because packing looks at one
// row at a time. Matrices that read the same input are joined into one: (q, k, v) and (gate, up).
// With int8 and bf16 the embedding and the head have that format, too, so a tied model keeps one
// matrix for both: its first stage has a head, and its last stage has an embedding.
// Threading: const and any thread; several computes may use the same object.
// Errors: those of ModelSource (NotFinite among them), Full when memory ends; Reject.
// Cost: reads each row of the stage's tensors once, kReadFloats at a time.
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
    bool first = false;  // begins with layer 0
    bool last = false;   // ends with the model's last layer
    std::vector<LayerWeights> layers;
    std::shared_ptr<const kernels::PackedMatrix> embedding;  // (V, C); null without embedding
    std::shared_ptr<const kernels::PackedMatrix> head;       // (V, C); null without head
    std::vector<float> head_norm;                            // (C); empty without head
};

/// Stages at which a token's path may end early, and which therefore get the model's head, too.
enum class Exits { None, EveryStage };

/// `layout`: one of models::split() for this model.
swarm::Result<std::shared_ptr<const StageWeights>> load_stage(
    const models::ModelSource& source,
    const swarm::run::StageLayout& layout,
    kernels::WeightFormat format,
    Exits exits = Exits::None
);

}  // namespace stacking::llama
