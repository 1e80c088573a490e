// The weights of consecutive layers of a decoder, packed for the kernels.
// Invariant: the packed weights of a layer do not depend on the split, because packing looks at one
// row at a time. Matrices that read the same input are joined into one: (q, k, v) and (gate, up);
// each part keeps the type that it has in the file when weights are kept as they are stored.
// Embedding and head are kept as all others, so a tied model keeps one matrix for both: its first
// stage has a head, and its last stage has an embedding.
// Layers in a row with the same tensors (models/training/shared_layers.hpp) are packed once.
// Threading: const and any thread; several computes may use the same object.
// Errors: those of ModelSource (NotFinite among them), Full when memory ends; Reject.
// Cost: reads each row of the stage's tensors once (weight_reader.hpp).
#pragma once

#include "stacking/expert_set.hpp"
#include "stacking/kernels/joined_matrix.hpp"
#include "stacking/llama/weight_choice.hpp"
#include "stacking/models/model_source.hpp"
#include "swarm/base/workers.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace stacking::llama {

/// One expert; a layer without a mixture has one.
struct FeedForwardWeights {
    kernels::JoinedMatrix gate_up;  // (2 F, C)
    kernels::JoinedMatrix down;     // (C, F)

    [[nodiscard]] bool is_held() const { return down.outputs() > 0; }
};

/// Vectors that the model's traits do not have are empty.
struct LayerWeights {
    std::vector<float> attention_norm;        // (C)
    kernels::JoinedMatrix query_key_value;    // (Q + 2 KV, C): query and key/value widths
    std::vector<float> query_key_value_bias;  // (Q + 2 KV)
    std::vector<float> query_norm;            // (head width), or (Q)
    std::vector<float> key_norm;              // (head width), or (KV)
    kernels::JoinedMatrix attention_out;      // (C, Q)
    std::vector<float> attention_out_bias;    // (C)
    std::vector<float> attention_post_norm;   // (C)
    std::vector<float> ffn_norm;              // (C)
    std::vector<FeedForwardWeights> experts;  // empty matrices for those that are not held
    std::optional<kernels::JoinedMatrix> router;  // (experts, C), fp32; nullopt without a mixture
    std::optional<FeedForwardWeights> shared;     // the expert for all tokens
    std::optional<kernels::JoinedMatrix> shared_gate;  // (1, C), fp32
    std::vector<float> ffn_post_norm;                  // (C)
};

/// The maps and the table in front of a layer behind a bottleneck.
struct BottleneckWeights {
    std::size_t layer = 0;        // counts from the stage's first one
    kernels::JoinedMatrix down;   // (K, C)
    kernels::JoinedMatrix up;     // (C, K)
    kernels::JoinedMatrix table;  // (V, C): a row for each token
};

struct StageWeights {
    models::Architecture architecture;
    std::uint32_t first_layer = 0;  // its index in the model
    bool first = false;             // begins with layer 0
    bool last = false;              // ends with the model's last layer
    std::vector<LayerWeights> layers;  // those that layers in a row share are there once
    std::vector<std::size_t> weights_of{};  // for each layer of the stage, its place in `layers`
    std::vector<BottleneckWeights> bottlenecks{};            // in the order of their layers
    std::shared_ptr<const kernels::JoinedMatrix> embedding;  // (V, C); null without embedding
    std::shared_ptr<const kernels::JoinedMatrix> head;       // (V, C); null without head
    std::vector<float> head_norm;                            // (C); empty without head

    /// The weights of a layer, which counts from the stage's first one.
    [[nodiscard]] const LayerWeights& weights(std::size_t layer) const {
        return layers[weights_of[layer]];
    }
};

/// Stages at which a token's path may end early, and which therefore get the model's head, too.
enum class Exits { None, EveryStage };

/// The part of a stage that is held.
struct HeldParts {
    bool trunk = true;                   // all but the experts of mixtures
    std::optional<ExpertSet> experts{};  // nothing: all
};

/// `layout`: one of models::split() for this model. Without the trunk the stage has the experts
/// alone: it is for LlamaLender. `workers`: null for the caller's thread alone; the weights are the
/// same for any number of threads.
swarm::Result<std::shared_ptr<const StageWeights>> load_stage(
    const models::ModelSource& source,
    const swarm::run::StageLayout& layout,
    WeightChoice choice,
    Exits exits = Exits::None,
    const HeldParts& held = {},
    swarm::Workers* workers = nullptr
);

/// Returns the bytes of the weights that load_stage() keeps, without exits.
std::uint64_t kept_bytes(
    const models::ModelSource& source, const swarm::run::StageLayout& layout, WeightChoice choice
);

}  // namespace stacking::llama
