// The order in which a token goes through the stages of a model: each stage once, in another order,
// or some stages again. The first stage of a path embeds the token, and the last one applies the
// head; every other stage takes rows and gives rows, whatever matrices it holds.
// Threading: const and any thread. Errors: one line for people. Cost: O(path).
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace stacking {

/// Whether the embedding and the head of a model are one matrix. If they are, the first and the
/// last stage have both.
enum class Embeddings { Untied, Tied };

/// Says why a token cannot take this path; empty when it can.
std::string path_refusal(
    std::span<const std::uint32_t> path, std::uint32_t stages, Embeddings embeddings
);

}  // namespace stacking
