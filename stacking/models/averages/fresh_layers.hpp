// A model with the ends of another one, and with layers that nobody has trained: a member of a
// stack whose members share their embedding and head, and begin with one final norm.
// Invariants: the ends are the seed's bit for bit. A layer has the values with which a run of this
// shape and number would begin (stages::fill_initial), so the same number makes the same model.
// Threading: const and any thread. Errors: those of the seed while its rows are read; Reject.
// Memory: the layers' largest tensor, which is drawn whole.
#pragma once

#include "stacking/models/model_source.hpp"

#include <cstdint>
#include <memory>

namespace stacking::models {

/// `number`: the seed of the random numbers.
swarm::Result<ModelSource> with_fresh_layers(
    std::shared_ptr<const ModelSource> seed, std::uint64_t number
);

}  // namespace stacking::models
