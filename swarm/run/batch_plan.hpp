// BatchPlan says which sequences of the corpus make up a microbatch. That is a pure function of
// (seed, step, microbatch), so a replay, a resumed run and --single read the same tokens without
// any state.
// Threading: immutable. Cost: O(tokens) per microbatch.
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/run/config.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace swarm::run {

/// The training text as token ids. Immutable.
using Corpus = std::vector<std::uint32_t>;

class BatchPlan {
 public:
    /// `corpus` outlives the plan and has more than config.model.context + 1 tokens (checked by
    /// the caller; the oracle model may have an empty one: its tokens are the ids themselves).
    BatchPlan(const RunConfig& config, std::span<const std::uint32_t> corpus);

    /// B x (T + 1) ids: each row holds the inputs of a sequence and, shifted by one, its targets.
    [[nodiscard]] std::vector<std::uint32_t> tokens(std::uint64_t step, MicrobatchId id) const;

 private:
    std::uint64_t seed_;
    std::uint32_t batch_;
    std::uint32_t row_;
    std::uint32_t vocabulary_;
    std::span<const std::uint32_t> corpus_;
};

}  // namespace swarm::run
