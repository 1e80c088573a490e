// BatchPlan says which sequences make up a microbatch. That is a pure function of (seed, step,
// microbatch), so a replay, a resumed run and --single read the same tokens without any state.
//   a text       sequences that begin at random places of it
//   a data set   its rows in the order of their numbers: step 0 has the first ones, each row once,
//                however many microbatches each step has
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

/// Rows of context + 1 tokens, by number. Row n has the same tokens for ever.
class SampleRows {
 public:
    SampleRows() = default;
    SampleRows(const SampleRows&) = delete;
    SampleRows& operator=(const SampleRows&) = delete;
    virtual ~SampleRows() = default;

    /// Fills in the ids of a row. Rows that cannot be read any more become zeros, and whoever owns
    /// them ends the run before it counts the step.
    virtual void read(std::uint64_t number, std::span<std::uint32_t> ids) const = 0;
};

class BatchPlan {
 public:
    /// `corpus` and `rows` outlive the plan. With rows the corpus is not read. Without them it has
    /// more than config.model.context + 1 tokens (checked by the caller; the oracle model may have
    /// an empty one: its tokens are the ids themselves).
    BatchPlan(
        const RunConfig& config,
        std::span<const std::uint32_t> corpus,
        const SampleRows* rows = nullptr
    );

    /// B x (T + 1) ids: each row holds the inputs of a sequence and, shifted by one, its targets.
    [[nodiscard]] std::vector<std::uint32_t> tokens(std::uint64_t step, MicrobatchId id) const;

 private:
    RunConfig config_;
    std::uint64_t seed_;
    std::uint32_t batch_;
    std::uint32_t row_;
    std::uint32_t vocabulary_;
    std::span<const std::uint32_t> corpus_;
    const SampleRows* rows_;
};

}  // namespace swarm::run
