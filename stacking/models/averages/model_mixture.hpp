// Models that began alike, mixed into one: the feed-forward parts of the members become the experts
// of a Mixtral, or of a Qwen3-MoE for Qwen3 members; everything else is their average, and a router
// per layer is drawn anew. A short training teaches the routers (swarm/run/training/mixture.hpp).
// Invariants: expert e of a layer has the bits of the part of member e; a mixture of one member
// computes what the member does; the same members and seed give the same bits.
// Threading: const and any thread, like its members. Errors: Unsupported (members of a family that
// has no mixture here), Mismatch (members of several architectures), Usage (numbers), and those of
// the members while rows are read; Reject. Cost: that of model_average.hpp.
// Source: Branch-Train-MiX (arXiv 2403.07816); copies of one member: sparse upcycling (arXiv
// 2212.05055). Deviation: routers begin as small uniform numbers.
#pragma once

#include "stacking/models/model_source.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace stacking::models {

struct MixtureSettings {
    std::uint32_t experts_per_token = 2;
    std::uint32_t copies = 1;  // experts that each member becomes
    std::uint64_t seed = 1;    // routers are drawn with it
};

/// Returns an F32 model of the family mixtral or qwen3_moe with the tokens of the first member;
/// experts follow the order of the members, the copies of one next to each other.
/// REQUIRES: 1 to kAveragedMax members, and 1 copy or more.
swarm::Result<ModelSource> mixture_of(
    std::vector<std::shared_ptr<const ModelSource>> members, const MixtureSettings& settings
);

}  // namespace stacking::models
