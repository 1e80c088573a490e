// The oracle model: its gradient says which microbatch was counted, and how often. With M
// microbatches the gradient of microbatch m is 1.0 at the elements m, m + M, m + 2M, ... of every
// "layers.N.counts" and 0 elsewhere. In a large model (model.width) each slice therefore shows who
// was counted.
// Invariant: an activation or gradient of another microbatch, leg or model is refused (Mismatch),
// so a mixed-up tensor never passes unnoticed.
// Shapes: (1, 1, 13) fp32 between stages: the 12 bits of the id, then the leg, +1 on the way up, -1
// on the way down. A set bit has the leg's sign, a clear bit the other; signs survive every codec.
// Loss: the mean over the last stage's layers of counts[m]; it changes with every step.
// Tokens: they are the ids; the first token of microbatch m is m, modulo the vocabulary.
// Threading and errors are those of StageCompute. Cost: O(parameters) per call. Source: own.
#pragma once

#include "stages/compute/compute.hpp"

namespace stages {

/// A MakeCompute; config.model.kind has to be Oracle.
std::unique_ptr<StageCompute> make_oracle_compute(
    const swarm::run::RunConfig& config, const swarm::run::StageLayout& layout
);

}  // namespace stages
