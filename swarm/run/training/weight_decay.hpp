// Which tensors AdamW's weight decay shrinks: all matrices, less those of optimizer.no_decay, which
// names groups of tensors. Vectors (norms and biases) never decay.
// A tied matrix is in "embed" at the first stage and in "head" at the last one, so a run that has
// one names both or neither.
// Threading: pure. Errors: a sentence, for the checks of a run file.
#pragma once

#include "swarm/run/partition.hpp"

#include <optional>
#include <string>

namespace swarm::run {

bool has_weight_decay(const OptimizerConfig& optimizer, const TensorSpec& tensor);

/// Says what is wrong with the list of optimizer.no_decay, as the end of a sentence that begins
/// with the key; nullopt: nothing. Layers of the model are at least 1.
std::optional<std::string> no_decay_fault(const RunConfig& config);

}  // namespace swarm::run
