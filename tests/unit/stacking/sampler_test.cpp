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

/// How often tokens of `scores` are drawn at 10,000 positions.
std::map<std::uint32_t, int> bounded(double temperature, double top_p, std::uint32_t top_k) {
    const SamplerOptions options{temperature, 5, top_p, top_k};
    std::map<std::uint32_t, int> counts;
    for (std::uint64_t position = 0; position < 10'000; ++position) {
        ++counts[sample_token(kScores, options, position)];
    }
    return counts;
}

TEST(Sampler, MinPLeavesOutWhatIsFarBelowTheBest) {
    const auto with = [](double min_p, double top_p = 0) {
        SamplerOptions options{1, 5, top_p, 0};
        options.min_p = min_p;
        std::map<std::uint32_t, int> counts;
        for (std::uint64_t position = 0; position < 10'000; ++position) {
            ++counts[sample_token(kScores, options, position)];
        }
        return counts;
    };
    EXPECT_EQ(with(0), bounded(1, 0, 0));
    auto counts = with(0.4);  // 0.3 is a half of 0.6, and 0.1 a sixth
    EXPECT_NEAR(counts[7], 6667, 200);
    EXPECT_NEAR(counts[3], 3333, 200);
    EXPECT_EQ(counts[9], 0);
    EXPECT_EQ(with(1), (std::map<std::uint32_t, int>{{7, 10'000}}));
    EXPECT_EQ(with(0.1, 0.5), bounded(1, 0.5, 0)) << "the tighter bound counts";
}

TEST(Sampler, TopKDrawsAmongTheFirst) {
    auto counts = bounded(1, 0, 2);  // 0.6 and 0.3 of 0.9
    EXPECT_NEAR(counts[7], 6667, 200);
    EXPECT_NEAR(counts[3], 3333, 200);
    EXPECT_EQ(counts[9], 0);
    EXPECT_EQ(bounded(1, 0, 1), (std::map<std::uint32_t, int>{{7, 10'000}}));
    EXPECT_EQ(bounded(1, 0, 3), bounded(1, 0, 0)) << "all tokens are no bound";
}

TEST(Sampler, TopPDrawsAmongTheFewestThatReachIt) {
    EXPECT_EQ(bounded(1, 0.5, 0), bounded(1, 0, 1)) << "0.6 reaches 0.5";
    EXPECT_EQ(bounded(1, 0.61, 0), bounded(1, 0, 2)) << "0.9 is the first sum from 0.61 on";
    EXPECT_EQ(bounded(1, 0.91, 0), bounded(1, 0, 0));
    EXPECT_EQ(bounded(1, 1, 0), bounded(1, 0, 0)) << "1 is no bound";
}

TEST(Sampler, TopPCountsWhatTopKAndTheTemperatureLeave) {
    // Token 7 has 0.667 of the first two, which reaches 0.65, but 0.6 of all three.
    EXPECT_EQ(bounded(1, 0.65, 2), bounded(1, 0, 1));
    EXPECT_EQ(bounded(1, 0.65, 0), bounded(1, 0, 2));
    // At temperature 2 the square roots count: 0.775, 0.548, 0.316, of 1.638: 0.473, 0.334, 0.193.
    EXPECT_EQ(bounded(2, 0.47, 0), bounded(2, 0, 1));
    EXPECT_EQ(bounded(2, 0.48, 0), bounded(2, 0, 2));
    EXPECT_EQ(bounded(2, 0.81, 0), bounded(2, 0, 3)) << "0.807 does not reach 0.81";
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
