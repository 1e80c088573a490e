// The numbers of a Llama-family model without its weights, the same for every file format.
// Invariant: after check() the numbers are within the bounds of limits.hpp and fit each other, so
// tensors can be listed and multiplied without overflow.
// Threading: pure functions. Errors: Unsupported (a bound), Malformed (numbers that contradict each
// other); Reject. Cost: O(layers).
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/run/config.hpp"
#include "swarm/run/partition.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stacking::models {

struct Architecture {
    std::string name;               // for people
    swarm::run::ModelConfig model;  // kind Llama; `context` is the longest one of the training
    bool tied_embeddings = false;   // head.weight is embed.weight
    std::optional<std::uint32_t> begin_token;
    std::vector<std::uint32_t> end_tokens;  // tokens at which generation stops
};

swarm::Result<> check(const Architecture& architecture);

/// Splits the layers into `stages` stages that take about the same time per token: a stage reads
/// each of its weights once, the last layer counts with the head, and the embedding costs one row.
/// Returns names and shapes in global order.
/// REQUIRES: a checked architecture and 1 <= stages <= layers.
std::vector<swarm::run::StageLayout> split(const Architecture& architecture, std::uint32_t stages);

/// Returns the layers [first, end) as one stage, with the embedding if first is 0 and the head if
/// end is the number of layers. REQUIRES: a checked architecture and first < end <= layers.
swarm::run::StageLayout layers_of(
    const Architecture& architecture, std::uint32_t first, std::uint32_t end
);

/// Returns all tensors of the model in global order. REQUIRES: a checked architecture.
std::vector<swarm::run::TensorSpec> tensors_of(const Architecture& architecture);

}  // namespace stacking::models
