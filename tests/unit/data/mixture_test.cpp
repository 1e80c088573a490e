#include "swarm/data/mixture.hpp"

#include "swarm/base/rng.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <string>

namespace swarm::data {
namespace {

Mixture make(const std::vector<double>& weights) {
    auto mixture = Mixture::make(weights);
    EXPECT_TRUE(mixture) << mixture.error().detail;
    return *std::move(mixture);
}

/// Expects each source's counts to be within one of its share, for each number of samples, and each
/// sample to be the next one of its source.
void expect_within_one(const std::vector<double>& weights) {
    const Mixture mixture = make(weights);
    std::vector<std::uint64_t> counts(weights.size(), 0);
    const std::uint64_t samples = std::min<std::uint64_t>(3ULL * mixture.period(), 100'000);
    for (std::uint64_t n = 0; n < samples; ++n) {
        const Mixture::Turn turn = mixture.turn(n);
        ASSERT_EQ(turn.count, counts[turn.source]++) << "sample " << n;
        for (std::size_t i = 0; i < weights.size(); ++i) {
            const double share = mixture.shares()[i] / static_cast<double>(mixture.period());
            const double wanted = static_cast<double>(n + 1) * share;
            ASSERT_LT(std::abs(static_cast<double>(counts[i]) - wanted), 1.0 + 1e-9)
                << "source " << i << " after " << n + 1 << " of " << weights.size() << " sources";
        }
    }
}

TEST(Mixture, CountsMatchTheWeightsWithinOne) {
    expect_within_one({1});
    expect_within_one({0.7, 0.2, 0.1});
    expect_within_one({3, 1});
    expect_within_one({1, 1, 1, 1, 1, 1, 1});
    expect_within_one({0.9, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01});
    Rng rng(5, 0);
    for (int drawn = 0; drawn < 20; ++drawn) {
        std::vector<double> weights;
        for (std::uint64_t i = 0; i < 2 + rng.below(8); ++i) {
            weights.push_back(rng.unit() * (rng.chance(1, 3) ? 0.01 : 1));
        }
        expect_within_one(weights);
    }
}

TEST(Mixture, TakesTheShortestExactPeriod) {
    EXPECT_EQ(make({0.7, 0.2, 0.1}).period(), 10U);
    EXPECT_EQ(make({1, 1, 1}).period(), 3U);
    EXPECT_EQ(make({600, 300}).period(), 3U);
    EXPECT_EQ(make({0.125, 0.875}).period(), 8U);
    EXPECT_EQ(make({5}).period(), 1U);
}

TEST(Mixture, RoundsOtherWeightsAndForgetsNoSource) {
    const Mixture mixture = make({std::sqrt(2.0), 1, 1e-9, 0});
    EXPECT_EQ(mixture.period(), 65'536U);
    EXPECT_NEAR(mixture.shares()[0] / 65'536.0, std::sqrt(2.0) / (1 + std::sqrt(2.0)), 2e-5);
    EXPECT_EQ(mixture.shares()[2], 1U);
    EXPECT_EQ(mixture.shares()[3], 0U);
}

TEST(Mixture, FarSamplesGoOnCounting) {
    const Mixture mixture = make({2, 1});
    const std::uint64_t far = 3'000'000'000'000;
    std::uint64_t first = 0;
    for (std::uint64_t n = far; n < far + 3; ++n) {
        const Mixture::Turn turn = mixture.turn(n);
        EXPECT_EQ(turn.count, turn.source == 0 ? 2'000'000'000'000 + first++ : 1'000'000'000'000);
    }
    EXPECT_EQ(first, 2U);
}

TEST(Mixture, RefusesWhatIsNoMixture) {
    const auto refused = [](const std::vector<double>& weights, const std::string& words) {
        const auto mixture = Mixture::make(weights);
        ASSERT_TRUE(mixture.has_error()) << words;
        EXPECT_EQ(mixture.error().code, ErrorCode::Usage);
        EXPECT_NE(mixture.error().detail.find(words), std::string::npos) << mixture.error().detail;
    };
    refused({}, "1 to 64 weights");
    refused(std::vector<double>(65, 1), "1 to 64 weights");
    refused({0, 0}, "sum to 0");
    refused({1, -1}, "from 0 to 1e9");
    refused({std::numeric_limits<double>::quiet_NaN()}, "from 0 to 1e9");
    refused({std::numeric_limits<double>::infinity()}, "from 0 to 1e9");
}

}  // namespace
}  // namespace swarm::data
