#include "stacking/sampler.hpp"

#include "swarm/base/check.hpp"
#include "swarm/base/rng.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace stacking {

SamplerOptions sampler_of(const swarm::protocol::Sampling& sampling) {
    return {sampling.temperature, sampling.seed, sampling.top_p, sampling.top_k, sampling.min_p};
}

std::uint32_t sample_token(
    std::span<const swarm::protocol::TokenScore> scores,
    const SamplerOptions& options,
    std::uint64_t position
) {
    SWARM_ASSERT(!scores.empty());
    if (!(options.temperature > 0)) {
        return scores.front().token;
    }
    const std::size_t kept =
        options.top_k > 0 ? std::min<std::size_t>(options.top_k, scores.size()) : scores.size();
    std::vector<double> upto;  // running sums of the weights
    double sum = 0;
    for (const auto& score : scores.first(kept)) {
        const double below_best = score.log_probability - scores.front().log_probability;
        sum += std::exp(below_best / options.temperature);
        upto.push_back(sum);
    }
    if (options.top_p > 0) {
        const auto last = std::ranges::lower_bound(upto, options.top_p * sum);
        if (last != upto.end()) {
            sum = *last;
        }
    }
    if (options.min_p > 0) {
        // The weight of the best one is 1, and weights fall.
        std::size_t likely = 1;
        while (likely < upto.size() && upto[likely - 1] < sum &&
               upto[likely] - upto[likely - 1] >= options.min_p) {
            ++likely;
        }
        sum = std::min(sum, upto[likely - 1]);
    }
    const double drawn = swarm::Rng(options.seed, position).unit() * sum;
    for (std::size_t i = 0; i < upto.size(); ++i) {
        if (drawn < upto[i]) {
            return scores[i].token;
        }
    }
    return scores.front().token;  // reached when the scores are not numbers
}

}  // namespace stacking
