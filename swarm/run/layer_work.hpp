// How much work each layer of a model is, so that whole layers can be dealt out by speed.
// Units: GFLOP of a microbatch, forward and backward: 2 for each weight and token, and the scores
// of attention. The oracle's layers are all alike.
// Cost: O(layers).
#pragma once

#include "swarm/run/config.hpp"

#include <vector>

namespace swarm::run {

/// The head counts with the last layer; an embedding is looked up, which costs nothing.
std::vector<double> layer_work(const RunConfig& config);

}  // namespace swarm::run
