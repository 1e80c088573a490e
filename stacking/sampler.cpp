#include "stacking/sampler.hpp"

#include "swarm/base/check.hpp"
#include "swarm/base/rng.hpp"

#include <cmath>
#include <vector>

namespace stacking {

std::uint32_t sample_token(
    std::span<const swarm::protocol::TokenScore> scores,
    const SamplerOptions& options,
    std::uint64_t position
) {
    SWARM_ASSERT(!scores.empty());
    if (!(options.temperature > 0)) {
        return scores.front().token;
    }
    std::vector<double> upto;  // running sums of the weights
    double sum = 0;
    for (const auto& score : scores) {
        const double below_best = score.log_probability - scores.front().log_probability;
        sum += std::exp(below_best / options.temperature);
        upto.push_back(sum);
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
