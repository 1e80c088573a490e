#include "router/rate_meter.hpp"

#include "tests/start.hpp"

#include <gtest/gtest.h>

namespace router {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using swarm::test::kStart;

TEST(RateMeter, KnowsNothingBeforeTheFirstObservation) {
    const RateMeter meter;
    EXPECT_FALSE(meter.units_per_s().has_value());
}

TEST(RateMeter, CountsFromSendWhenNothingElseWaited) {
    RateMeter meter;
    meter.passed(10, kStart, kStart + seconds(2), 0);
    EXPECT_DOUBLE_EQ(*meter.units_per_s(), 5);
    meter.passed(10, kStart + seconds(60), kStart + seconds(62), 0);
    EXPECT_DOUBLE_EQ(*meter.units_per_s(), 5) << "the pause between them is not the peer's";
}

TEST(RateMeter, CountsFromTheLastPassedWhileMoreOfOursWaited) {
    RateMeter meter;
    // Four sent together, done one second apart: waiting in the queue is not slowness.
    for (int i = 1; i <= 4; ++i) {
        meter.passed(10, kStart, kStart + seconds(i), static_cast<std::size_t>(4 - i));
    }
    EXPECT_DOUBLE_EQ(*meter.units_per_s(), 10);
}

TEST(RateMeter, DoesNotCountTimeBeforeTheOfferWasSent) {
    RateMeter meter;
    meter.passed(10, kStart, kStart + seconds(1), 1);
    // The offers that waited were recalled; the next offer came a minute later.
    meter.passed(10, kStart + seconds(60), kStart + seconds(61), 0);
    EXPECT_DOUBLE_EQ(*meter.units_per_s(), 10);
}

TEST(RateMeter, ATimeoutEntersWithItsElapsedTime) {
    RateMeter meter;
    meter.passed(10, kStart, kStart + seconds(1), 0);
    meter.timed_out(10, kStart + seconds(1), kStart + seconds(11));
    // Seconds per unit: 0.75 * 0.1 + 0.25 * 1.
    EXPECT_DOUBLE_EQ(*meter.units_per_s(), 1 / 0.325);
}

TEST(RateMeter, ATimeoutAloneIsAnObservation) {
    RateMeter meter;
    meter.timed_out(10, kStart, kStart + seconds(5));
    EXPECT_DOUBLE_EQ(*meter.units_per_s(), 2);
}

TEST(RateMeter, ATimeoutNeverMakesAPeerLookFaster) {
    RateMeter meter;
    meter.passed(10, kStart, kStart + seconds(10), 0);
    meter.timed_out(10, kStart + seconds(10), kStart + seconds(11));
    EXPECT_DOUBLE_EQ(*meter.units_per_s(), 1);
}

TEST(RateMeter, RecoversFromTimeoutsWithinAFewPassed) {
    RateMeter meter;
    meter.passed(10, kStart, kStart + seconds(1), 0);
    TimePoint now = kStart + seconds(1);
    for (int i = 0; i < 8; ++i) {
        meter.timed_out(10, now, now + seconds(100));
        now += seconds(100);
    }
    EXPECT_LT(*meter.units_per_s(), 0.15);
    for (int i = 0; i < 5; ++i) {
        meter.passed(10, now, now + seconds(1), 0);
        now += seconds(1);
    }
    EXPECT_GT(*meter.units_per_s(), 5);
}

TEST(RateMeter, OnePassedDoesNotWipeOutTimeouts) {
    RateMeter meter;
    for (int i = 0; i < 3; ++i) {
        meter.timed_out(10, kStart, kStart + seconds(100));
    }
    meter.passed(10, kStart, kStart + seconds(1), 0);
    EXPECT_LT(*meter.units_per_s(), 2);
}

TEST(RateMeter, TwoPassedInOneTurnAreAveragedOverTheirBurst) {
    RateMeter meter;
    meter.passed(10, kStart, kStart + seconds(1), 1);
    meter.passed(10, kStart, kStart + seconds(1), 1);
    EXPECT_GT(*meter.units_per_s(), 10);
    EXPECT_LT(*meter.units_per_s(), 14);
}

TEST(RateMeter, FollowsAChangeOfSpeedWithinTenObservations) {
    RateMeter meter;
    TimePoint now = kStart;
    meter.passed(10, now, now + seconds(4), 0);
    for (int i = 0; i < 10; ++i) {
        now += seconds(10);
        meter.passed(10, now, now + seconds(1), 0);
    }
    EXPECT_GT(*meter.units_per_s(), 8);
}

TEST(RateMeter, TellsWhetherItTookNote) {
    RateMeter meter;
    EXPECT_FALSE(meter.passed(0, kStart, kStart + seconds(1), 0)) << "work of no units";
    EXPECT_TRUE(meter.passed(10, kStart, kStart + seconds(1), 0));
    EXPECT_FALSE(meter.timed_out(10, kStart, kStart + milliseconds(500))) << "would look faster";
    EXPECT_TRUE(meter.timed_out(10, kStart, kStart + seconds(20)));
}

TEST(RecentBest, IsTheHighestOfTheLastThirtySeconds) {
    RecentBest best;
    EXPECT_EQ(best.units_per_s(kStart), 0);
    best.observe(10, kStart + seconds(1));
    best.observe(4, kStart + seconds(11));
    EXPECT_DOUBLE_EQ(best.units_per_s(kStart + seconds(20)), 10);
    EXPECT_DOUBLE_EQ(best.units_per_s(kStart + seconds(33)), 4);
    EXPECT_EQ(best.units_per_s(kStart + seconds(60)), 0);
}

TEST(RateMeter, WorkOfNoUnitsSaysNothing) {
    RateMeter meter;
    meter.passed(0, kStart, kStart + milliseconds(1), 0);
    EXPECT_FALSE(meter.units_per_s().has_value());
}

}  // namespace
}  // namespace router
