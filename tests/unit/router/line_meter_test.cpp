#include "router/line_meter.hpp"

#include "tests/start.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <tuple>

namespace router {
namespace {

using namespace std::chrono_literals;
using swarm::TimePoint;
using swarm::test::kStart;

constexpr std::uint64_t kTensor = 100'000;

TEST(LineMeter, MeasuresABusyPeriodAsAWhole) {
    LineMeter line;
    const auto first = line.sent(kStart);
    const auto second = line.sent(kStart + 10ms);
    line.arrived(kTensor, first, kStart + 100ms);
    EXPECT_EQ(line.bytes_per_s(kStart + 100ms), 0) << "one is under way";
    line.arrived(kTensor, second, kStart + 200ms);
    EXPECT_DOUBLE_EQ(line.bytes_per_s(kStart + 200ms), 1e6);
}

TEST(LineMeter, CountsTheBestOfTheLastHalfMinute) {
    LineMeter line;
    line.arrived(kTensor, line.sent(kStart), kStart + 100ms);
    line.arrived(kTensor, line.sent(kStart + 1s), kStart + 2s);
    EXPECT_DOUBLE_EQ(line.bytes_per_s(kStart + 2s), 1e6);
    line.arrived(kTensor, line.sent(kStart + 16s), kStart + 17s);
    EXPECT_DOUBLE_EQ(line.bytes_per_s(kStart + 17s), 1e6);
    EXPECT_DOUBLE_EQ(line.bytes_per_s(kStart + 40s), 1e5);
    EXPECT_DOUBLE_EQ(line.bytes_per_s(kStart + 100s), 0);
}

TEST(LineMeter, LearnsNothingFromFewBytes) {
    LineMeter line;
    line.arrived(52, line.sent(kStart), kStart + 1ms);
    EXPECT_EQ(line.bytes_per_s(kStart + 1s), 0);
}

TEST(LineMeter, ForgetsTensorsThatNeverArrived) {
    LineMeter line;
    const auto before = line.sent(kStart);
    std::ignore = line.sent(kStart);
    line.forget_what_is_under_way();
    line.arrived(kTensor, before, kStart + 1ms);
    EXPECT_EQ(line.bytes_per_s(kStart + 1ms), 0);
    line.arrived(kTensor, line.sent(kStart + 1s), kStart + 2s);
    EXPECT_DOUBLE_EQ(line.bytes_per_s(kStart + 2s), 1e5);
}

/// A recall in mid-step: a tensor that was sent before it arrives while the next one is on its way.
TEST(LineMeter, ALateArrivalDoesNotEndTheNextPeriod) {
    LineMeter line;
    const auto before = line.sent(kStart);
    line.forget_what_is_under_way();
    const auto after = line.sent(kStart + 1s);
    line.arrived(kTensor, before, kStart + 1001ms);
    EXPECT_EQ(line.bytes_per_s(kStart + 1001ms), 0) << "100 MB/s by a line of 0.1";
    line.arrived(kTensor, after, kStart + 2s);
    EXPECT_DOUBLE_EQ(line.bytes_per_s(kStart + 2s), 1e5);
}

TEST(LineMeter, CountsForAsLongAsItsWindowSays) {
    LineMeter line(1min);
    line.arrived(kTensor, line.sent(kStart), kStart + 100ms);
    EXPECT_DOUBLE_EQ(line.bytes_per_s(kStart + 59s), 1e6);
    EXPECT_DOUBLE_EQ(line.bytes_per_s(kStart + 3min), 0);
}

}  // namespace
}  // namespace router
