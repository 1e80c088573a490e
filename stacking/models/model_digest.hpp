// By what peers know that they mean the same model, and have the same weights.
// Both hash what the files store, not what it stands for: the same model in two formats is two.
// Threading: const and any thread. Errors: those of reading; Reject.
#pragma once

#include "stacking/models/model_source.hpp"
#include "swarm/base/digest.hpp"

namespace stacking::models {

/// The model: its numbers, and of each tensor name, type, shape and the first kSampleBytes. So two
/// models that were trained apart differ, and a client need not read all weights to name one.
/// Cost: one small read per tensor.
inline constexpr std::size_t kSampleBytes = 64;
swarm::Result<swarm::Digest> identity_of(const ModelSource& model);

/// All weights of these layers. Cost: reads them, 1.8 GB/s.
swarm::Result<swarm::Digest> digest_of(
    const ModelSource& model, const swarm::run::StageLayout& layers
);

}  // namespace stacking::models
