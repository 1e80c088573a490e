// Layers of several models, one after the other, as one model: the embedding of the first, the norm
// and the head of the last. So a chain (stacking/composition) can be trained as a whole, exported
// and served like any model.
// Invariants: layers cut from one model and joined in their order are that model; layer i has the
// bits of the layer that it was. The model is tied if all are and the ends have one embedding.
// Threading: const and any thread, like its parts. Errors: Mismatch (Reject): parts of several
// architectures, the number of layers apart; Unsupported: too many layers; and those of the parts
// while rows are read. Cost: that of model_average.hpp; two tied embeddings are compared once.
// Source: model stacking (S. Mueller, 2025).
#pragma once

#include "stacking/models/model_source.hpp"

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace stacking::models {

/// Layers [first, end) of a model.
struct ChainPart {
    std::shared_ptr<const ModelSource> model;
    std::uint32_t first = 0;
    std::uint32_t end = 0;
};

/// Whether both models have the same values in a tensor of this name and shape, bit for bit.
/// REQUIRES: both have it.
swarm::Result<bool> have_equal(
    const ModelSource& one, const ModelSource& other, std::string_view tensor
);

/// Returns an F32 model with the tokens of the first part and the shortest of the contexts.
/// REQUIRES: a part or more, and first < end <= layers in each.
swarm::Result<ModelSource> chain_of(std::vector<ChainPart> parts);

}  // namespace stacking::models
