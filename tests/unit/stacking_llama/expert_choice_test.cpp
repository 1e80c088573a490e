#include "stacking/llama/expert_choice.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace stacking::llama {
namespace {

TEST(ExpertChoice, TakesTheMostProbableInOrderOfTheirIndices) {
    const float logits[] = {1, 3, 0, 2};
    const auto chosen = choose_experts(logits, {.count = 4, .chosen = 2});
    ASSERT_EQ(chosen.size(), 2U);
    EXPECT_EQ(chosen[0].expert, 1U);
    EXPECT_EQ(chosen[1].expert, 3U);
    const double sum = std::exp(1.0) + std::exp(3.0) + 1 + std::exp(2.0);
    EXPECT_NEAR(chosen[0].share, std::exp(3.0) / sum, 1e-6);
    EXPECT_NEAR(chosen[1].share, std::exp(2.0) / sum, 1e-6);
}

TEST(ExpertChoice, RenormalisedSharesAreOneTogether) {
    const float logits[] = {1, 3, 0, 2};
    const auto chosen = choose_experts(logits, {.count = 4, .chosen = 2, .renormalise = true});
    EXPECT_NEAR(chosen[0].share + chosen[1].share, 1, 1e-6);
    EXPECT_NEAR(chosen[0].share / chosen[1].share, std::exp(1.0), 1e-5);
}

TEST(ExpertChoice, OfEqualsTheLowerIndexIsTaken) {
    const float logits[] = {0, 5, 5, 5};
    const auto chosen = choose_experts(logits, {.count = 4, .chosen = 2});
    EXPECT_EQ(chosen[0].expert, 1U);
    EXPECT_EQ(chosen[1].expert, 2U);
}

TEST(ExpertChoice, NanGivesNanToAsManyExperts) {
    for (const float odd : {std::numeric_limits<float>::quiet_NaN(), INFINITY}) {
        const float logits[] = {1, odd, 2, 3};
        const auto chosen = choose_experts(logits, {.count = 4, .chosen = 2, .renormalise = true});
        ASSERT_EQ(chosen.size(), 2U);
        EXPECT_TRUE(std::isnan(chosen[0].share));
    }
}

}  // namespace
}  // namespace stacking::llama
