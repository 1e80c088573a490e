// Checks of tensors from peers and from compute: magnitudes and token ids.
// Errors: NotFinite, Mismatch (token id), both Reject: the caller drops the tensor. Threading: pure
// functions. Cost: one vectorised pass at memory speed.
#pragma once

#include "swarm/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace stages {

/// True when |value| < limit for all values; a NaN makes it false. limit > 0; it may be infinity.
bool all_below(std::span<const float> values, float limit);

/// Error: NotFinite when a value is NaN or |value| >= limit. `what` begins the error's text, such
/// as
/// "gradient".
swarm::Result<> check_below(std::span<const float> values, float limit, const char* what);
/// Error: NotFinite, which names the first element that is NaN or infinite.
swarm::Result<> check_finite(std::span<const float> values);

/// Error: Mismatch when an id is not below `vocabulary`.
swarm::Result<> check_token_ids(std::span<const std::uint32_t> tokens, std::uint32_t vocabulary);

/// The same for the rows of a microbatch, whose targets may have kNoLossFlag: all but the first
/// token of each row.
swarm::Result<> check_training_tokens(
    std::span<const std::uint32_t> tokens, std::size_t row, std::uint32_t vocabulary
);

}  // namespace stages
