#include "stages/compute/top_tokens.hpp"

#include <algorithm>
#include <cmath>

namespace stages {

using swarm::protocol::TokenScore;

namespace {

/// The number to subtract from a logit to get its log-probability.
double normaliser_of(std::span<const float> logits) {
    const double highest = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const float value : logits) {
        sum += std::exp(value - highest);
    }
    return highest + std::log(sum);
}

}  // namespace

std::vector<TokenScore> top_tokens(std::span<const float> logits, std::uint32_t count) {
    std::vector<TokenScore> scores;
    const auto is_finite = [](float value) { return std::isfinite(value); };
    if (logits.empty() || !std::all_of(logits.begin(), logits.end(), is_finite)) {
        return scores;
    }
    const double normaliser = normaliser_of(logits);
    scores.reserve(logits.size());
    for (std::uint32_t token = 0; token < logits.size(); ++token) {
        scores.push_back({token, logits[token] - normaliser});
    }
    const auto better = [](const TokenScore& a, const TokenScore& b) {
        return a.log_probability != b.log_probability ? a.log_probability > b.log_probability
                                                      : a.token < b.token;
    };
    const std::size_t kept = std::min<std::size_t>(std::max(count, 1U), scores.size());
    const auto end = scores.begin() + static_cast<std::ptrdiff_t>(kept);
    std::partial_sort(scores.begin(), end, scores.end(), better);
    scores.resize(kept);
    return scores;
}

double log_probability(std::span<const float> logits, std::uint32_t token) {
    return logits[token] - normaliser_of(logits);
}

}  // namespace stages
