#include "stacking/sessions/calls/row_price.hpp"

#include <gtest/gtest.h>

namespace stacking::sessions {
namespace {

using namespace std::chrono_literals;

TEST(RowPrice, IsTheTimeThatARowAddsForEachText) {
    RowPrice price;
    EXPECT_EQ(price.us(1), 0U);
    for (int i = 0; i < 40; ++i) {
        const int rows = 1 + i % 4;
        price.add(rows, 7ms + rows * 2ms);
    }
    EXPECT_NEAR(price.us(1), 2'000, 1);
    EXPECT_NEAR(price.us(8), 16'000, 8);
}

TEST(RowPrice, CountsTheTokensThatAFrameMakes) {
    RowPrice price;
    for (int i = 0; i < 400; ++i) {
        price.add(1 + i % 4, 7ms + (1 + i % 4) * 2ms);
        price.made(3);
    }
    EXPECT_NEAR(price.us(1), 6'000, 10);
}

TEST(RowPrice, SaysNothingOfCallsOfOneSize) {
    RowPrice price;
    for (int i = 0; i < 40; ++i) {
        price.add(8, 20ms + std::chrono::milliseconds(i % 5));
    }
    EXPECT_EQ(price.us(8), 0U);
}

TEST(RowPrice, IsNeverNegative) {
    RowPrice price;
    for (int i = 0; i < 40; ++i) {
        price.add(1 + i % 4, 20ms - (i % 4) * 2ms);
    }
    EXPECT_EQ(price.us(8), 0U);
}

TEST(RowPrice, FollowsTheLastCalls) {
    RowPrice price;
    for (int i = 0; i < 200; ++i) {
        const int rows = 1 + i % 4;
        price.add(rows, rows * (i < 100 ? 1ms : 4ms));
    }
    EXPECT_NEAR(price.us(1), 4'000, 100);
}

}  // namespace
}  // namespace stacking::sessions
