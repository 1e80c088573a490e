#include "stacking/composition/mixed_candidates.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace stacking::composition {
namespace {

using swarm::protocol::TokenScore;
using Listed = std::vector<TokenScore>;

constexpr double kNever = -std::numeric_limits<double>::infinity();

TokenScore score(std::uint32_t token, double probability) {
    return {token, std::log(probability)};
}

double probability_of(const Listed& mixed, std::uint32_t token) {
    for (const TokenScore& one : mixed) {
        if (one.token == token) {
            return std::exp(one.log_probability);
        }
    }
    return -1;
}

TEST(MixedCandidates, AreTheExactMeanOfCompleteLists) {
    const std::vector<Candidates> members{
        {Listed{score(0, 0.7), score(1, 0.2), score(2, 0.1)}, 3},
        {Listed{score(2, 0.8), score(0, 0.15), score(1, 0.05)}, 3}};
    const std::vector<double> weights{std::log(0.25), std::log(0.75)};
    const Listed mixed = mix_candidates(members, weights, 10);
    ASSERT_EQ(mixed.size(), 3U);
    EXPECT_EQ(mixed[0].token, 2U);
    EXPECT_NEAR(probability_of(mixed, 0), 0.7 / 4 + 0.15 * 3 / 4, 1e-12);
    EXPECT_NEAR(probability_of(mixed, 1), 0.2 / 4 + 0.05 * 3 / 4, 1e-12);
    EXPECT_NEAR(probability_of(mixed, 2), 0.1 / 4 + 0.8 * 3 / 4, 1e-12);
}

TEST(MixedCandidates, AnUnlistedTokenGetsAnEqualPartOfTheRest) {
    const Candidates member(Listed{score(5, 0.6), score(9, 0.3)}, 12);
    EXPECT_NEAR(std::exp(member.log_probability(5)), 0.6, 1e-12);
    EXPECT_NEAR(std::exp(member.log_probability(0)), 0.1 / 10, 1e-12);
}

TEST(MixedCandidates, AListAboveProbabilityOneLeavesAlmostNothing) {
    const Candidates member(Listed{score(5, 0.9), score(9, 0.9)}, 12);
    EXPECT_TRUE(std::isfinite(member.log_probability(0)));
    EXPECT_LT(member.log_probability(0), -20);
}

TEST(MixedCandidates, TheFirstEntryOfATokenCounts) {
    const Candidates member(Listed{score(5, 0.6), score(5, 0.1)}, 12);
    EXPECT_NEAR(std::exp(member.log_probability(5)), 0.6, 1e-12);
    EXPECT_EQ(member.listed().size(), 1U);
}

TEST(MixedCandidates, MembersThatAreLeftOutDoNotCount) {
    const std::vector<Candidates> members{
        {Listed{score(1, 0.9)}, 4}, {Listed{}, 4}, {Listed{score(2, 0.9)}, 4}};
    const Listed mixed = mix_candidates(members, std::vector<double>{0, kNever, kNever}, 10);
    ASSERT_EQ(mixed.size(), 1U);
    EXPECT_EQ(mixed[0].token, 1U);
    EXPECT_NEAR(mixed[0].log_probability, std::log(0.9), 1e-12);
}

TEST(MixedCandidates, EqualCandidatesComeInTokenOrderUpToTheCount) {
    const std::vector<Candidates> members{
        {Listed{score(8, 0.25), score(3, 0.25), score(6, 0.25), score(1, 0.25)}, 9}};
    const Listed mixed = mix_candidates(members, std::vector<double>{0}, 3);
    ASSERT_EQ(mixed.size(), 3U);
    EXPECT_EQ(mixed[0].token, 1U);
    EXPECT_EQ(mixed[1].token, 3U);
    EXPECT_EQ(mixed[2].token, 6U);
}

}  // namespace
}  // namespace stacking::composition
