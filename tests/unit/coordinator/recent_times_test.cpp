#include "swarm/coordinator/recent_times.hpp"

#include <gtest/gtest.h>

namespace swarm::coordinator {
namespace {

using namespace std::chrono_literals;

TEST(RecentTimes, IsZeroBeforeTheFirstDuration) {
    EXPECT_EQ(RecentTimes{}.p95(), 0ns);
}

TEST(RecentTimes, TakesTheOnlyOne) {
    RecentTimes times;
    times.add(7ms);
    EXPECT_EQ(times.p95(), 7ms);
}

TEST(RecentTimes, LeavesOutTheSlowestTwentieth) {
    RecentTimes times;
    for (int i = 20; i >= 1; --i) {
        times.add(i * 1ms);
    }
    EXPECT_EQ(times.p95(), 19ms);
}

TEST(RecentTimes, ForgetsAllButTheLastSixtyFour) {
    RecentTimes times;
    for (int i = 0; i < 64; ++i) {
        times.add(2s);
    }
    for (int i = 0; i < 60; ++i) {
        times.add(1s);
    }
    EXPECT_EQ(times.p95(), 2s);
    times.add(1s);
    EXPECT_EQ(times.p95(), 1s);
}

TEST(RecentTimes, AreNotLengthenedBySomeThatWereHeldUp) {
    RecentTimes times;
    for (int i = 0; i < 9; ++i) {
        times.add(2s);
    }
    times.add(40s);
    EXPECT_EQ(times.p95(), 6s);
}

}  // namespace
}  // namespace swarm::coordinator
