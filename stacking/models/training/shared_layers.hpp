// Layers that share their weights: a run with model.repeat = R computes each of its layers R times
// in a row, and is read as a model of R times as many layers, of which R in a row are one.
// Invariant: layer i of that model has the weights of layer i / R of the run. Nothing is copied:
// the tensors of both lie at the same place of the same file.
// Threading: pure functions. Cost: O(tensors).
// Source: SWARM (arXiv 2301.11913), after ALBERT (arXiv 1909.11942).
#pragma once

#include "stacking/models/model_source.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace stacking::models {

/// Gives each tensor of a layer the names of the layers that it stands for. What is not named
/// "layers.N..." stays.
ModelSource::Tensors with_repeated_layers(ModelSource::Tensors tensors, std::uint32_t repeat);

/// Whether both tensors are the same values of the same file, read in the same way.
bool is_same_tensor(const StoredTensor& left, const StoredTensor& right);

/// The N of "layers.N.attn.wq"; nullopt for a tensor that belongs to no layer.
std::optional<std::uint32_t> layer_of_tensor(std::string_view name);

/// Whether the layer has the very tensors of the layer before it.
bool repeats_layer_before(const ModelSource& model, std::uint32_t layer);

/// Layers that do not repeat the one before.
std::uint32_t layers_of_their_own(const ModelSource& model);

}  // namespace stacking::models
