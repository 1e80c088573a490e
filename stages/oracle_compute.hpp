// The oracle model: its gradient says which microbatch was counted, and how often. Of M, microbatch
// m has the gradient 1.0 at elements m, m + M, m + 2M, .. of every "layers.N.counts", 0 elsewhere:
// of a large one (model.width) each slice shows who was counted.
// Invariant: an activation or gradient of another microbatch, leg or model is refused (Mismatch),
// so a mixed-up tensor never passes unnoticed.
// Shapes: (1, 1, 13) between stages: the 12 bits of the id, then the leg, +1 on the way up, -1 on
// the way down; a bit is the leg's sign where set, else the other. Signs survive every codec.
// Loss: mean over the last stage's layers of counts[m]; it changes with every step.
// Its tokens are the ids themselves: the first token of microbatch m is m, modulo the vocabulary.
// Threading, errors: as StageCompute. Cost: O(parameters) per call. Source: own.
#pragma once

#include "stages/compute.hpp"

namespace stages {

/// config.model.kind is Oracle. A StageCompute's MakeCompute.
std::unique_ptr<StageCompute> make_oracle_compute(
    const swarm::run::RunConfig& config, const swarm::run::StageLayout& layout
);

}  // namespace stages
