#include "stacking/composition/running_bayes.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace stacking::composition {
namespace {

double weight(const RunningBayes& bayes, std::size_t member) {
    return std::exp(bayes.log_weights()[member]);
}

TEST(RunningBayes, BeginsWithThePriors) {
    const RunningBayes bayes(std::array{3.0, 1.0});
    EXPECT_NEAR(weight(bayes, 0), 0.75, 1e-12);
    EXPECT_NEAR(weight(bayes, 1), 0.25, 1e-12);
}

TEST(RunningBayes, WeighsMembersByTheirProbabilityOfTheText) {
    RunningBayes bayes(std::array{1.0, 1.0});
    bayes.observe(std::array{std::log(0.2), std::log(0.6)});
    EXPECT_NEAR(weight(bayes, 0), 0.25, 1e-12);
    bayes.observe(std::array{std::log(0.5), std::log(0.1)});
    EXPECT_NEAR(weight(bayes, 0), 0.625, 1e-12);
    bayes.restart();
    EXPECT_NEAR(weight(bayes, 0), 0.5, 1e-12);
}

TEST(RunningBayes, PiecesOfATextGiveTheWeightsOfTheWhole) {
    RunningBayes pieces(std::array{1.0, 2.0, 3.0});
    pieces.observe(std::array{-1.5, -2.0, -0.25});
    pieces.observe(std::array{-3.0, -0.5, -4.0});
    RunningBayes whole(std::array{1.0, 2.0, 3.0});
    whole.observe(std::array{-4.5, -2.5, -4.25});
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_NEAR(pieces.log_weights()[i], whole.log_weights()[i], 1e-12);
    }
}

TEST(RunningBayes, OtherMembersKeepTheirRatioAfterADrop) {
    RunningBayes bayes(std::array{1.0, 2.0, 6.0});
    bayes.drop(1);
    EXPECT_FALSE(bayes.has(1));
    EXPECT_NEAR(weight(bayes, 0), 1.0 / 7, 1e-12);
    EXPECT_EQ(weight(bayes, 1), 0);
    bayes.observe(std::array{-1.0, -100.0, -1.0});
    EXPECT_NEAR(weight(bayes, 2), 6.0 / 7, 1e-12);
    EXPECT_FALSE(bayes.has(1));
}

TEST(RunningBayes, StaysFiniteOverAMillionTokens) {
    RunningBayes bayes(std::array{1.0, 1.0});
    for (int i = 0; i < 1'000'000; ++i) {
        bayes.observe(std::array{-2.0, -3.0});
    }
    EXPECT_NEAR(weight(bayes, 0), 1, 1e-12);
    EXPECT_TRUE(bayes.has(1));
}

}  // namespace
}  // namespace stacking::composition
