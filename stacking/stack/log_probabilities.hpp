// Scores of the next token as log-probabilities, and how many of them to hold at once.
// Threading: pure. Errors: as said. Cost: two passes over V.
#pragma once

#include <cstddef>
#include <span>

namespace stacking::stack {

/// Tokens whose scores are held at once, by a reader of several models and by who measures one:
/// bounds (tokens x V) floats.
inline constexpr std::size_t kTokensAtOnce = 32;

/// In place: logits (V) to log-probabilities. False, and nothing means anything, when one of them
/// is not finite.
bool normalise(std::span<float> logits);

}  // namespace stacking::stack
