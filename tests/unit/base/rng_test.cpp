// The sequence is part of the program: data, dropout and version 0 of the weights follow from it,
// so its first words are fixed here. Words 1 to 3 of SplitMix64 from state 0 are publicly known.
#include "swarm/base/rng.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace swarm {

TEST(MixBits, IsSplitMix64sFinaliser) {
    constexpr std::uint64_t kGamma = 0x9e3779b97f4a7c15;
    EXPECT_EQ(mix_bits(kGamma), 0xe220a8397b1dcdafU);
    EXPECT_EQ(mix_bits(2 * kGamma), 0x6e789e6aa1b965f4U);
    EXPECT_EQ(mix_bits(3 * kGamma), 0x06c45d188009454fU);
    EXPECT_EQ(mix_bits(0), 0U);
}

TEST(Rng, HasAFixedSequence) {
    Rng rng(42, 7);
    const std::array<std::uint64_t, 4> first{rng.next(), rng.next(), rng.next(), rng.next()};
    const std::array<std::uint64_t, 4> expected{
        0x3a2cc4384ef877f7, 0x584ea09c5c418a5d, 0x7344487f4005e993, 0xe833fcf5628000e5};
    EXPECT_EQ(first, expected);
}

TEST(Rng, GivesAnotherSequenceForAnotherStreamOrSeed) {
    std::set<std::uint64_t> firsts;
    for (std::uint64_t seed = 0; seed < 32; ++seed) {
        for (std::uint64_t stream = 0; stream < 32; ++stream) {
            firsts.insert(Rng(seed, stream).next());
        }
    }
    EXPECT_EQ(firsts.size(), 32U * 32U);
}

TEST(Rng, BelowStaysBelowAndReachesEveryValue) {
    Rng rng(1, 1);
    std::array<int, 7> counts{};
    for (int i = 0; i < 7000; ++i) {
        ++counts.at(rng.below(counts.size()));
    }
    for (const int count : counts) {
        EXPECT_GT(count, 850);
        EXPECT_LT(count, 1150);
    }
    EXPECT_EQ(rng.below(1), 0U);
}

TEST(Rng, ChanceKeepsItsOdds) {
    Rng rng(1, 2);
    int hits = 0;
    for (int i = 0; i < 8000; ++i) {
        hits += rng.chance(1, 4) ? 1 : 0;
        EXPECT_FALSE(rng.chance(0, 4));
        EXPECT_TRUE(rng.chance(4, 4));
    }
    EXPECT_NEAR(hits, 2000, 200);
}

TEST(Rng, UnitIsInHalfOpenInterval) {
    Rng rng(1, 3);
    double sum = 0;
    for (int i = 0; i < 10'000; ++i) {
        const double value = rng.unit();
        ASSERT_GE(value, 0);
        ASSERT_LT(value, 1);
        sum += value;
    }
    EXPECT_NEAR(sum / 10'000, 0.5, 0.02);
}

}  // namespace swarm
