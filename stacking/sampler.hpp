// Chooses the next token among the likeliest ones. It is a pure function: the same scores, options
// and position give the same token wherever and however often they are asked for.
// The probabilities p^(1/temperature) of the scores are scaled to sum 1; of them the first `top_k`
// stay; of those the fewest that reach `top_p` of their sum stay, best first; a token is drawn by
// what is left, without those below `min_p` of the best one. That is the order in which Hugging
// Face's generate() bounds the choice, but over the scores that are given instead of the whole
// vocabulary.
// Errors: none; scores must not be empty. Cost: one exponential per score.
#pragma once

#include "swarm/protocol/message.hpp"

#include <cstdint>
#include <span>

namespace stacking {

struct SamplerOptions {
    double temperature = 0;  // 0: always the likeliest token
    std::uint64_t seed = 0;
    double top_p = 0;         // above 0, at most 1; 0 sets no bound, as 1 does
    std::uint32_t top_k = 0;  // number of tokens; 0 sets no bound
    double min_p = 0;         // a part of the best one's probability; 0 sets no bound
};

/// Options of the last hop of a session.
SamplerOptions sampler_of(const swarm::protocol::Sampling& sampling);

/// `scores`: best first. `position`: position of the new token, counted from the prompt's start.
std::uint32_t sample_token(
    std::span<const swarm::protocol::TokenScore> scores,
    const SamplerOptions& options,
    std::uint64_t position
);

}  // namespace stacking
