#include "stacking/sessions/calls/call_pace.hpp"

#include <gtest/gtest.h>

namespace stacking::sessions {
namespace {

using namespace std::chrono_literals;

class CallPaceTest : public testing::Test {
 protected:
    void add(std::size_t rows, swarm::Duration took, int times) {
        for (int i = 0; i < times; ++i) {
            pace_.add(rows, took);
        }
    }

    CallPace pace_;
};

TEST_F(CallPaceTest, NothingIsKnownAtFirst) {
    EXPECT_EQ(pace_.shortest_s(), 0);
    EXPECT_EQ(pace_.slow_s(), 0);
}

TEST_F(CallPaceTest, CallsOfMoreRowsAreNotSlowForThat) {
    add(1, 10ms, 100);
    add(8, 40ms, 100);
    add(1, 12ms, 100);
    EXPECT_EQ(pace_.slow_s(), 0) << "12 ms is a chance";
    EXPECT_DOUBLE_EQ(pace_.shortest_s(), 0.012) << "what is long ago is forgotten";
}

TEST_F(CallPaceTest, CallsAreSlowBesideOthers) {
    add(1, 10ms, 1);
    add(1, 22ms, 20);
    EXPECT_NEAR(pace_.slow_s(), 0.0095, 0.001);
    add(1, 10ms, 200);
    EXPECT_LT(pace_.slow_s(), 0.0001);
}

TEST_F(CallPaceTest, CallsOfFewRowsCouldTakeWhatMoreRowsTook) {
    add(4, 30ms, 1);
    EXPECT_EQ(pace_.slow_s(), 0);
    add(8, 12ms, 1);
    add(4, 30ms, 20);
    EXPECT_GT(pace_.slow_s(), 0.010);
}

TEST_F(CallPaceTest, ALongFreezeCountsLittle) {
    add(1, 10ms, 2);
    add(1, 100s, 1);
    EXPECT_LT(pace_.slow_s(), 0.010);
}

TEST_F(CallPaceTest, WhatIsSlowForEverIsTheMeasureInTheEnd) {
    add(1, 10ms, 1);
    add(1, 20ms, 1000);
    EXPECT_LT(pace_.slow_s(), 0.001);
}

TEST_F(CallPaceTest, KnowsWhatASharedCallSaves) {
    add(1, 7ms, 1);
    EXPECT_EQ(pace_.saved_part(), 1);
    add(4, 10ms, 1);
    EXPECT_NEAR(pace_.saved_part(), 6.0 / 7, 1e-9) << "a call of 6 ms and 1 ms per row";
    add(1, 2500us, 1);
    EXPECT_EQ(pace_.saved_part(), 0) << "rows cost all of the time";
}

TEST_F(CallPaceTest, TakesAnyNumberOfRows) {
    add(1'000'000, 10ms, 3);
    EXPECT_GT(pace_.shortest_s(), 0);
}

}  // namespace
}  // namespace stacking::sessions
