// The oracle model: its gradient says which microbatch was counted, and how often. Microbatch m has
// the gradient 1.0 at element m of every "layers.N.counts" and 0 elsewhere.
// Invariant: an activation or gradient of another microbatch, leg or model is refused (Mismatch),
// so a mixed-up tensor never passes unnoticed.
// Shapes: what passes between stages is (1, 1, 13): the 12 bits of the id, then the leg, +1 on the
// way up and -1 on the way down; a bit is the leg's sign where set, else the other. Signs survive
// the rounding of every codec: 4 bits per value, drawn, and after a transform, too.
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
