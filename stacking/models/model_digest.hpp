// The digests by which peers know that they mean the same model and have the same weights. Both
// hash the stored bytes, not the values: one model in two formats has two digests.
// Threading: const and any thread. Errors: those of reading; Reject. Cost: see the functions.
#pragma once

#include "stacking/models/model_source.hpp"
#include "swarm/base/digest.hpp"

namespace stacking::models {

/// Names the model: hashes its numbers, and each tensor's name, type, shape and first kSampleBytes.
/// Two models that were trained apart differ, and a client need not read all weights to name one.
/// Cost: one small read per tensor.
inline constexpr std::size_t kSampleBytes = 64;
swarm::Result<swarm::Digest> identity_of(const ModelSource& model);

/// Hashes all weights of these layers. Cost: reads them at 1.8 GB/s.
swarm::Result<swarm::Digest> digest_of(
    const ModelSource& model, const swarm::run::StageLayout& layers
);

}  // namespace stacking::models
