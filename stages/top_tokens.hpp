// The likeliest tokens by log-softmax over logits, ties in token order: best first.
// Errors: none; empty when a logit is not finite, as such scores have no order, and the other side
// would refuse them. Threading: pure. Cost: O(V log count).
#pragma once

#include "swarm/protocol/message.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace stages {

/// `logits`: (V). At least one token is returned, at most `count`.
std::vector<swarm::protocol::TokenScore> top_tokens(
    std::span<const float> logits, std::uint32_t count
);

/// Log-softmax of one of them, with the arithmetic of top_tokens(). Not finite where a logit is
/// not. `token` below V.
double log_probability(std::span<const float> logits, std::uint32_t token);

}  // namespace stages
