#include "stacking/llama/rotary.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace stacking::llama {
namespace {

TEST(SineCosine, IsTheMathematicalOne) {
    for (double angle = 0; angle < 20; angle += 0.0137) {
        const SineCosine both = sine_cosine(angle);
        EXPECT_NEAR(both.sine, std::sin(angle), 1e-15) << angle;
        EXPECT_NEAR(both.cosine, std::cos(angle), 1e-15) << angle;
    }
}

TEST(SineCosine, HoldsForTheLongestContext) {
    for (double angle = 1; angle < 0x1p24; angle *= 1.37) {
        const SineCosine both = sine_cosine(angle);
        EXPECT_NEAR(both.sine, std::sin(angle), 1e-9) << angle;
        EXPECT_NEAR(both.cosine, std::cos(angle), 1e-9) << angle;
    }
}

TEST(Rotary, RotatesPairsByTheirAngle) {
    const Rotary rotary(10000, 4);
    float cosines[2];
    float sines[2];
    rotary.angles(3, cosines, sines);
    EXPECT_NEAR(cosines[0], std::cos(3.0), 1e-7);
    EXPECT_NEAR(sines[1], std::sin(3.0 / 100), 1e-7);
    float head[] = {1, 0, 0, 2};  // pairs are (0, 2) and (1, 3)
    Rotary::rotate(head, cosines, sines);
    EXPECT_NEAR(head[0], std::cos(3.0), 1e-6);
    EXPECT_NEAR(head[2], std::sin(3.0), 1e-6);
    EXPECT_NEAR(head[1], -2 * std::sin(0.03), 1e-6);
    EXPECT_NEAR(head[3], 2 * std::cos(0.03), 1e-6);
}

TEST(Rotary, LeavesTheFirstPositionAsItIs) {
    const Rotary rotary(100000, 12);
    float cosines[6];
    float sines[6];
    rotary.angles(0, cosines, sines);
    for (std::size_t i = 0; i < 6; ++i) {
        EXPECT_EQ(cosines[i], 1.0F);
        EXPECT_EQ(sines[i], 0.0F);
    }
}

}  // namespace
}  // namespace stacking::llama
