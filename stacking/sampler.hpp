// Chooses the next token among the likeliest ones. It is a pure function: the same scores,
// temperature, seed and position give the same token wherever and however often they are asked for.
// Errors: none; scores must not be empty. Cost: one exponential per score.
#pragma once

#include "swarm/protocol/message.hpp"

#include <cstdint>
#include <span>

namespace stacking {

struct SamplerOptions {
    double temperature = 0;  // 0: always the likeliest token
    std::uint64_t seed = 0;
};

/// `scores`: best first. `position`: position of the new token, counted from the prompt's start.
std::uint32_t sample_token(
    std::span<const swarm::protocol::TokenScore> scores,
    const SamplerOptions& options,
    std::uint64_t position
);

}  // namespace stacking
