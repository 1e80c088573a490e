#include "stacking/sessions/calls/token_gather.hpp"

#include <gtest/gtest.h>

namespace stacking::sessions {
namespace {

using namespace std::chrono_literals;
using swarm::Duration;
using swarm::TimePoint;

/// Two sessions in turns: each has a call for itself, during which the other one's token comes.
class TokenGatherTest : public testing::Test {
 protected:
    /// Lets each session return `after` the end of its call, so many times.
    void alternate(Duration call, Duration after, int times) {
        for (int i = 0; i < times; ++i) {
            answer(i % 2, call);
            now_ += after;
            come(i % 2);
            now_ += call - after;
        }
    }

    void come(std::uint64_t session) { gather_.came(session, false, hops_[session], now_); }

    /// Ends a call with the session's token.
    void answer(std::uint64_t session, Duration call) {
        gather_.answered(session, hops_[session], now_);
        gather_.ended(1, call, now_);
    }

    TokenGather gather_;
    TokenGather::Returns hops_[2];
    TimePoint now_{1h};
};

TEST_F(TokenGatherTest, NothingWaitsUntilACallWasSeen) {
    come(0);
    come(1);
    EXPECT_TRUE(gather_.is_shared());
    EXPECT_LE(gather_.until(), now_);
}

TEST_F(TokenGatherTest, ATokenWaitsForASessionThatReturnsSoon) {
    alternate(20ms, 1ms, 40);
    answer(0, 20ms);
    EXPECT_GE(gather_.until(), now_ + 1ms);
    EXPECT_LE(gather_.until(), now_ + 3ms);
    now_ += 1ms;
    come(0);
    EXPECT_LE(gather_.until(), now_ + 2ms) << "nobody else was answered";
}

TEST_F(TokenGatherTest, NothingWaitsForASessionThatReturnsLate) {
    alternate(20ms, 8ms, 40);
    answer(0, 20ms);
    EXPECT_LE(gather_.until(), now_);
}

TEST_F(TokenGatherTest, ShortCallsWaitLess) {
    alternate(2ms, 1ms, 40);
    answer(0, 2ms);
    EXPECT_LE(gather_.until(), now_);
}

TEST_F(TokenGatherTest, NothingWaitsWhereASharedCallSavesNothing) {
    alternate(20ms, 1ms, 40);
    gather_.ended(4, 80ms, now_);
    answer(0, 20ms);
    EXPECT_LE(gather_.until(), now_);
}

TEST_F(TokenGatherTest, SlowCallsWaitLonger) {
    alternate(10ms, 9ms, 10);
    answer(0, 10ms);
    EXPECT_LE(gather_.until(), now_);
    now_ += 9ms;
    come(0);
    alternate(25ms, 9ms, 10);
    answer(0, 25ms);
    EXPECT_GE(gather_.until(), now_ + 9ms);
}

TEST_F(TokenGatherTest, NothingWaitsLongerThanTheBound) {
    alternate(10s, 900ms, 10);
    alternate(30s, 900ms, 10);
    answer(0, 30s);
    EXPECT_LE(gather_.until(), now_ + TokenGather::kMost);
}

TEST_F(TokenGatherTest, ASessionThatEndsIsNotWaitedFor) {
    alternate(20ms, 1ms, 40);
    answer(0, 20ms);
    EXPECT_GT(gather_.until(), now_);
    gather_.forget(0, hops_[0]);
    gather_.forget(0, hops_[0]);
    EXPECT_LE(gather_.until(), now_);
}

TEST_F(TokenGatherTest, ASessionThatDoesNotComeIsWaitedForOnce) {
    alternate(20ms, 1ms, 40);
    answer(0, 20ms);
    now_ += 3ms;
    EXPECT_LE(gather_.until(), now_);
    now_ += 200ms;
    gather_.ended(1, 20ms, now_);
    EXPECT_LE(gather_.until(), now_);
}

TEST_F(TokenGatherTest, ACallThatReadsPromptsSaysNothingOfTokens) {
    alternate(20ms, 8ms, 40);
    for (int i = 0; i < 20; ++i) {
        gather_.ended(0, 500ms, now_);
    }
    answer(0, 20ms);
    EXPECT_LE(gather_.until(), now_);
}

}  // namespace
}  // namespace stacking::sessions
