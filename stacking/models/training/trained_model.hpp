// A model of others as one that is trained here, and back: the architecture that a model's files
// have, and the table [model] of a run.
// Invariant: as_served(as_trained(a)) computes what `a` does, for texts of at most its context.
// Threading: pure functions. Errors: Unsupported (Reject): stages/torch does not compute such a
// model; the text names the family or the trait that it lacks.
#pragma once

#include "stacking/models/architecture.hpp"
#include "swarm/base/result.hpp"
#include "swarm/run/config.hpp"

namespace stacking::models {

/// `context` of the result is the longest one that the model can be trained on: layers with a
/// window compute as others within it. `max_context` is the longest one that it can be asked with.
swarm::Result<swarm::run::ModelConfig> as_trained(const Architecture& architecture);

/// Has each layer as often as the run computes it (shared_layers.hpp). The name is empty.
/// REQUIRES: `model` is not the oracle and has passed check_run().
Architecture as_served(const swarm::run::ModelConfig& model);

}  // namespace stacking::models
