#include "stacking/sampler.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <vector>

namespace stacking {
namespace {

using Scores = std::vector<swarm::protocol::TokenScore>;

const Scores kScores{{7, std::log(0.6)}, {3, std::log(0.3)}, {9, std::log(0.1)}};

std::map<std::uint32_t, int> draw(double temperature, int times) {
    std::map<std::uint32_t, int> counts;
    for (int position = 0; position < times; ++position) {
        const auto at = static_cast<std::uint64_t>(position);
        ++counts[sample_token(kScores, {temperature, 5}, at)];
    }
    return counts;
}

TEST(Sampler, TakesTheLikeliestTokenAtTemperatureZero) {
    EXPECT_EQ(draw(0, 50), (std::map<std::uint32_t, int>{{7, 50}}));
}

TEST(Sampler, DrawsByProbabilityAtTemperatureOne) {
    auto counts = draw(1, 10'000);
    EXPECT_NEAR(counts[7], 6000, 200);
    EXPECT_NEAR(counts[3], 3000, 200);
    EXPECT_NEAR(counts[9], 1000, 200);
}

TEST(Sampler, FlattensWithTheTemperature) {
    auto counts = draw(1000, 9'000);
    EXPECT_NEAR(counts[7], 3000, 200);
    EXPECT_NEAR(counts[9], 3000, 200);
}

TEST(Sampler, GivesTheSameTokenForTheSameSeedAndPosition) {
    for (std::uint64_t position = 0; position < 100; ++position) {
        const SamplerOptions options{1, 77};
        EXPECT_EQ(
            sample_token(kScores, options, position), sample_token(kScores, options, position)
        );
    }
}

TEST(Sampler, DrawsOtherTokensWithAnotherSeed) {
    int differ = 0;
    for (std::uint64_t position = 0; position < 100; ++position) {
        const bool same =
            sample_token(kScores, {1, 1}, position) == sample_token(kScores, {1, 2}, position);
        differ += same ? 0 : 1;
    }
    EXPECT_GT(differ, 20);
}

TEST(Sampler, SurvivesScoresThatAreNotNumbers) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(sample_token(Scores{{4, nan}, {5, nan}}, {1, 1}, 0), 4U);
}

}  // namespace
}  // namespace stacking
