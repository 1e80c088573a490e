// Turns scores of the next token into log-probabilities, and bounds how many are held at once.
// Threading: pure functions. Errors: a false or empty result. Shapes: (V) fp32. Cost: two passes
// over V.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace stacking::composition {

/// Number of tokens whose scores an ensemble or a measurement holds at once. It bounds their memory
/// to (tokens x V) floats.
inline constexpr std::size_t kTokensAtOnce = 32;

/// Turns logits (V) into log-probabilities, in place. Returns false when a logit is not finite;
/// then the values mean nothing.
bool normalise(std::span<float> logits);

/// Returns the log-probability of one token, in nats; nullopt when a logit is not finite.
/// REQUIRES: token < V.
std::optional<double> log_probability(std::span<const float> logits, std::size_t token);

}  // namespace stacking::composition
