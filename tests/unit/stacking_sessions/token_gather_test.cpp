#include "stacking/sessions/calls/token_gather.hpp"

#include <gtest/gtest.h>

namespace stacking::sessions {
namespace {

using namespace std::chrono_literals;
using swarm::TimePoint;

/// Two sessions in turns: each has a call for itself, during which the other one's token comes.
class TokenGatherTest : public testing::Test {
 protected:
    /// Lets each session return `after` the end of its call, so many times.
    void alternate(swarm::Duration call, swarm::Duration after, int times) {
        for (int i = 0; i < times; ++i) {
            const std::uint64_t session = i % 2;
            gather_.answered(hops_[session], now_);
            gather_.ended(call, now_);
            now_ += after;
            gather_.came(session, false, hops_[session], now_);
            now_ += call - after;
        }
    }

    TokenGather gather_;
    TokenGather::Answered hops_[2];
    TimePoint now_{1h};
};

TEST_F(TokenGatherTest, ATokenWaitsForThoseThatReturnSoon) {
    alternate(20ms, 200us, 40);
    EXPECT_TRUE(gather_.is_shared());
    gather_.answered(hops_[0], now_);
    gather_.ended(20ms, now_);
    EXPECT_GT(gather_.until(), now_ + 300us);
    EXPECT_LE(gather_.until(), now_ + TokenGather::kMost);
    now_ += 200us;
    gather_.came(0, false, hops_[0], now_);
    EXPECT_LE(gather_.until(), now_ + TokenGather::kGap) << "nobody else was answered";
}

TEST_F(TokenGatherTest, NothingWaitsForThoseThatReturnLate) {
    alternate(20ms, 2ms, 40);
    gather_.answered(hops_[0], now_);
    gather_.ended(20ms, now_);
    EXPECT_LE(gather_.until(), now_) << "twice 2 ms are more than kMost";
}

TEST_F(TokenGatherTest, NothingWaitsWhereCallsAreShort) {
    alternate(1ms, 200us, 40);
    gather_.answered(hops_[0], now_);
    gather_.ended(1ms, now_);
    EXPECT_LE(gather_.until(), now_);
}

TEST_F(TokenGatherTest, ASessionThatEndsIsNotWaitedFor) {
    alternate(20ms, 200us, 40);
    gather_.answered(hops_[0], now_);
    gather_.ended(20ms, now_);
    EXPECT_GT(gather_.until(), now_);
    gather_.forget(hops_[0]);
    gather_.forget(hops_[0]);
    EXPECT_LE(gather_.until(), now_);
}

TEST_F(TokenGatherTest, ReturnsThatAreSlowNowAndThenChangeLittle) {
    alternate(20ms, 200us, 40);
    alternate(20ms, 10ms, 2);
    gather_.answered(hops_[0], now_);
    gather_.ended(20ms, now_);
    EXPECT_GT(gather_.until(), now_ + 400us);
}

}  // namespace
}  // namespace stacking::sessions
