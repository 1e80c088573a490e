// What a Llama-family model is, apart from its weights: the same for every file format.
// Invariant: after check() its numbers are within the bounds of limits.hpp and fit each other, so
// tensors can be listed and multiplied without overflow.
// Errors: Unsupported (a bound), Malformed (numbers that contradict each other); Reject.
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
    swarm::run::ModelConfig model;  // kind Llama; context: the longest it was trained for
    bool tied_embeddings = false;   // head.weight is embed.weight
    std::optional<std::uint32_t> begin_token;
    std::vector<std::uint32_t> end_tokens;  // generation stops at any of them
};

swarm::Result<> check(const Architecture& architecture);

/// Its layers as `stages` stages that take about as long: each weight is read once per token, the
/// head with the last layer, of the embedding a row. Names and shapes, in global order. Needs a
/// checked architecture and 1 <= stages <= layers.
std::vector<swarm::run::StageLayout> split(const Architecture& architecture, std::uint32_t stages);

/// Layers [first, end) as a stage of their own, with the embedding if first is 0 and the head if
/// end is the number of layers. Needs a checked architecture and first < end <= layers.
swarm::run::StageLayout layers_of(
    const Architecture& architecture, std::uint32_t first, std::uint32_t end
);

/// All of its tensors, in global order. Needs a checked architecture.
std::vector<swarm::run::TensorSpec> tensors_of(const Architecture& architecture);

}  // namespace stacking::models
