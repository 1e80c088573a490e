#include "stages/compute/top_tokens.hpp"

#include "swarm/base/rng.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace stages {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// `spread`: the logits are between 0 and it; `values`: as many different ones.
std::vector<float> random_logits(std::size_t count, float spread, std::uint64_t values) {
    swarm::Rng rng(count, values);
    std::vector<float> logits(count);
    for (float& logit : logits) {
        logit = spread * static_cast<float>(rng.below(values)) / static_cast<float>(values);
    }
    return logits;
}

double log_of_sum(const std::vector<float>& logits) {
    const double highest = *std::ranges::max_element(logits);
    return highest + std::log(std::accumulate(
                         logits.begin(),
                         logits.end(),
                         0.0,
                         [=](double sum, float logit) { return sum + std::exp(logit - highest); }
                     ));
}

TEST(TopTokens, AreTheBestOfASortWithTiesInTheOrderOfTokens) {
    for (const std::size_t vocabulary : {1U, 3U, 4U, 7U, 100U, 1001U, 49152U}) {
        for (const std::uint64_t values : {1U, 5U, 1U << 20}) {
            const auto logits = random_logits(vocabulary, 30, values);
            std::vector<std::uint32_t> order(vocabulary);
            std::iota(order.begin(), order.end(), 0);
            std::ranges::stable_sort(order, [&](auto a, auto b) { return logits[a] > logits[b]; });
            for (const std::uint32_t count : {0U, 1U, 2U, 64U, 100'000U}) {
                const auto best = top_tokens(logits, count);
                ASSERT_EQ(best.size(), std::clamp<std::size_t>(count, 1, vocabulary));
                for (std::size_t i = 0; i < best.size(); ++i) {
                    ASSERT_EQ(best[i].token, order[i]) << vocabulary << ' ' << values << ' ' << i;
                }
                // One pass over all logits each: the ends and the middle stand for all.
                for (const std::size_t i : {std::size_t{0}, best.size() / 2, best.size() - 1}) {
                    EXPECT_EQ(best[i].log_probability, log_probability(logits, best[i].token));
                }
            }
        }
    }
}

TEST(TopTokens, LogProbabilitiesAreThoseOfDoublePrecision) {
    for (const std::size_t vocabulary : {1U, 2U, 5U, 1000U, 49152U}) {
        for (const float spread : {0.0F, 1e-3F, 1.0F, 20.0F, 80.0F, 500.0F, 1e30F}) {
            const auto logits = random_logits(vocabulary, spread, 1U << 20);
            const double wanted = logits[0] - log_of_sum(logits);
            EXPECT_NEAR(log_probability(logits, 0), wanted, 3e-7 + 1e-15 * std::fabs(wanted))
                << vocabulary << ' ' << spread;
        }
    }
}

TEST(TopTokens, LogitsThatAreNoNumbersHaveNone) {
    for (const float spoiled : {kInfinity, -kInfinity, kNaN}) {
        for (const std::size_t at : {0U, 5U, 8U}) {
            auto logits = random_logits(9, 10, 1000);
            logits[at] = spoiled;
            EXPECT_TRUE(top_tokens(logits, 3).empty());
            EXPECT_FALSE(std::isfinite(log_probability(logits, 1)));
        }
    }
    EXPECT_TRUE(top_tokens({}, 1).empty());
}

}  // namespace
}  // namespace stages
