#include "stacking/sessions/calls/own_rate.hpp"

#include <gtest/gtest.h>

namespace stacking::sessions {
namespace {

using namespace std::chrono_literals;

TEST(OwnRate, IsNotKnownBeforeACallThatTookTime) {
    OwnRate rate;
    EXPECT_EQ(rate.rows_per_s(), 0);
    rate.add(3, 0s);
    EXPECT_EQ(rate.rows_per_s(), 0);
}

TEST(OwnRate, IsRowsOverTheTimeOfTheirCalls) {
    OwnRate rate;
    rate.add(16, 1s);
    EXPECT_DOUBLE_EQ(rate.rows_per_s(), 16);
    for (int i = 0; i < 100; ++i) {
        rate.add(4, 100ms);
    }
    EXPECT_NEAR(rate.rows_per_s(), 40, 1);
}

TEST(OwnRate, OneSlowCallHardlyChangesIt) {
    OwnRate rate;
    for (int i = 0; i < 100; ++i) {
        rate.add(1, 10ms);
    }
    rate.add(1, 50ms);
    EXPECT_GT(rate.rows_per_s(), 75);
}

TEST(OwnRate, StaysWithinTheProtocolsBound) {
    OwnRate rate;
    rate.add(100, 1ns);
    EXPECT_EQ(rate.rows_per_s(), swarm::protocol::kRowsPerSMax);
}

}  // namespace
}  // namespace stacking::sessions
