// The likeliest tokens by log-softmax over logits, best first; ties are in token order.
// Errors: none. The result is empty when a logit is not finite, because such scores have no order
// and the receiver would refuse them. Threading: pure functions. Cost: three passes over V.
#pragma once

#include "swarm/protocol/message.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace stages {

/// `logits` are (V) fp32. At least one token is returned, at most `count`.
std::vector<swarm::protocol::TokenScore> top_tokens(
    std::span<const float> logits, std::uint32_t count
);

/// Log-softmax of one token, with the arithmetic of top_tokens(). The result is not finite where a
/// logit is not finite. `token` is below V.
double log_probability(std::span<const float> logits, std::uint32_t token);

}  // namespace stages
