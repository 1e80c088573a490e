// The work of each layer of a model, by which whole layers are dealt out to stages of unequal
// speed.
// Units: GFLOP of a microbatch, forward and backward: 2 for each weight and token, and the scores
// of attention; as many times as the layer is computed (model.repeat). Of a mixture a token meets
// the weights of its own experts alone. The layers of the oracle all have the same work.
// Threading: pure. Cost: O(layers).
#pragma once

#include "swarm/run/config.hpp"
#include "swarm/run/partition.hpp"

#include <vector>

namespace swarm::run {

/// The head counts with the last layer, and with each that has an exit behind it. The embedding
/// counts nothing, because it is a look-up.
std::vector<double> layer_work(const RunConfig& config);

/// The work of a stage's layers, or of its part of one, and of the head where it has that.
double stage_work(const RunConfig& config, const StageLayout& stage);

/// The work of one map at a boundary (training/boundary_maps.hpp); 0 without a bottleneck.
double boundary_map_work(const RunConfig& config);

}  // namespace swarm::run
