// Checks of what comes from peers and from compute: magnitudes, and token ids.
// Errors: NotFinite, Mismatch (token id); Reject. Cost: one vectorised pass, memory speed.
#pragma once

#include "swarm/base/result.hpp"

#include <cstdint>
#include <span>

namespace stages {

/// |value| < limit for all; false for NaN. limit > 0, infinity allowed.
bool all_below(std::span<const float> values, float limit);

/// NotFinite when |value| >= limit or NaN; `what` begins the error's text: "gradient".
swarm::Result<> check_below(std::span<const float> values, float limit, const char* what);
/// NotFinite names the first element that is NaN or infinite.
swarm::Result<> check_finite(std::span<const float> values);

swarm::Result<> check_token_ids(std::span<const std::uint32_t> tokens, std::uint32_t vocabulary);

}  // namespace stages
