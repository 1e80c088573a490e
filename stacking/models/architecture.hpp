// The numbers of a model without its weights, the same for every file format: the shape and the
// traits of its family.
// Invariant: after check() the numbers are within the bounds of limits.hpp and fit each other, so
// tensors can be listed and multiplied without overflow.
// Threading: pure functions. Errors: Unsupported (a bound), Malformed (numbers that contradict each
// other); Reject. Cost: O(layers).
#pragma once

#include "stacking/models/traits.hpp"
#include "swarm/base/result.hpp"
#include "swarm/run/config.hpp"
#include "swarm/run/partition.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stacking::models {

struct Architecture {
    std::string name = {};               // for people
    swarm::run::ModelConfig model = {};  // `context` is the longest one that can be computed
    bool tied_embeddings = false;        // head.weight is embed.weight
    std::optional<std::uint32_t> begin_token = {};
    std::vector<std::uint32_t> end_tokens = {};  // tokens at which generation stops
    Traits traits = {};

    [[nodiscard]] std::uint32_t head_width() const {
        return traits.head_width > 0 ? traits.head_width : model.width / model.heads;
    }

    [[nodiscard]] std::uint32_t query_width() const { return model.heads * head_width(); }

    [[nodiscard]] std::uint32_t kv_width() const { return model.kv_heads * head_width(); }

    [[nodiscard]] std::uint32_t rotary_width() const {
        return traits.rotary_width > 0 ? traits.rotary_width : head_width();
    }

    [[nodiscard]] LayerAttention attention_of(std::uint32_t layer) const {
        return traits.layers.empty() ? LayerAttention{} : traits.layers[layer];
    }
};

/// The first part of check(): each number of the shape is within its bound, so that a reader may
/// make a list as long as one of them.
swarm::Result<> check_bounds(const Architecture& architecture);

swarm::Result<> check(const Architecture& architecture);

/// Whether the model can be cut into so many stages. Errors: Usage, Unsupported (Reject), for
/// people: layers behind a bottleneck read the tokens, which only the first stage has.
swarm::Result<> check_stages(const Architecture& architecture, std::uint32_t stages);

/// Splits the layers into `stages` stages that take about the same time per token: a stage reads
/// each of its weights once, the last layer counts with the head, and the embedding costs one row.
/// Returns names and shapes in global order.
/// REQUIRES: a checked architecture, 1 <= stages, and check_stages() accepts it.
std::vector<swarm::run::StageLayout> split(const Architecture& architecture, std::uint32_t stages);

/// Returns the layers [first, end) as one stage, with the embedding if first is 0 and the head if
/// end is the number of layers. REQUIRES: a checked architecture and first < end <= layers.
swarm::run::StageLayout layers_of(
    const Architecture& architecture, std::uint32_t first, std::uint32_t end
);

/// Returns all tensors of the model in global order. REQUIRES: a checked architecture.
std::vector<swarm::run::TensorSpec> tensors_of(const Architecture& architecture);

}  // namespace stacking::models
