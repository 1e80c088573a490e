#include "stages/own_speeds.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace stages {
namespace {

using namespace std::chrono_literals;
using protocol::Leg;

constexpr TimePoint kStart{};
constexpr std::uint64_t kTensor = 100'000;

TEST(LineMeter, MeasuresABusyPeriodAsAWhole) {
    LineMeter line;
    line.sent(kStart);
    line.sent(kStart + 10ms);
    line.arrived(kTensor, kStart + 100ms);
    EXPECT_EQ(line.bytes_per_s(kStart + 100ms), 0) << "one is under way";
    line.arrived(kTensor, kStart + 200ms);
    EXPECT_DOUBLE_EQ(line.bytes_per_s(kStart + 200ms), 1e6);
}

TEST(LineMeter, CountsTheBestOfTheLastHalfMinute) {
    LineMeter line;
    line.sent(kStart);
    line.arrived(kTensor, kStart + 100ms);
    line.sent(kStart + 1s);
    line.arrived(kTensor, kStart + 2s);
    EXPECT_DOUBLE_EQ(line.bytes_per_s(kStart + 2s), 1e6);
    line.sent(kStart + 16s);
    line.arrived(kTensor, kStart + 17s);
    EXPECT_DOUBLE_EQ(line.bytes_per_s(kStart + 17s), 1e6);
    EXPECT_DOUBLE_EQ(line.bytes_per_s(kStart + 40s), 1e5);
    EXPECT_DOUBLE_EQ(line.bytes_per_s(kStart + 100s), 0);
}

TEST(LineMeter, LearnsNothingFromFewBytes) {
    LineMeter line;
    line.sent(kStart);
    line.arrived(52, kStart + 1ms);
    EXPECT_EQ(line.bytes_per_s(kStart + 1s), 0);
}

TEST(LineMeter, ForgetsWhatNeverArrived) {
    LineMeter line;
    line.sent(kStart);
    line.sent(kStart);
    line.forget_what_is_under_way();
    line.arrived(kTensor, kStart + 1ms);  // of the step before
    EXPECT_EQ(line.bytes_per_s(kStart + 1ms), 0);
    line.sent(kStart + 1s);
    line.arrived(kTensor, kStart + 2s);
    EXPECT_DOUBLE_EQ(line.bytes_per_s(kStart + 2s), 1e5);
}

TEST(OwnSpeeds, KnowsAMicrobatchOnceItHasSeenBothWays) {
    OwnSpeeds speeds;
    speeds.computed(Leg::Forward, kStart, kStart + 100ms);
    EXPECT_EQ(speeds.measured(false, kStart).microbatch_s, 0);
    EXPECT_DOUBLE_EQ(speeds.measured(true, kStart).microbatch_s, 0.1) << "a tail has one job";
    speeds.computed(Leg::Backward, kStart + 200ms, kStart + 400ms);
    EXPECT_DOUBLE_EQ(speeds.measured(false, kStart).microbatch_s, 0.3);
}

TEST(OwnSpeeds, DoesNotCountTheWaitForTheJobBefore) {
    OwnSpeeds speeds;
    speeds.computed(Leg::Forward, kStart, kStart + 100ms);
    speeds.computed(Leg::Forward, kStart, kStart + 200ms);
    EXPECT_DOUBLE_EQ(speeds.measured(true, kStart).microbatch_s, 0.1);
}

TEST(OwnSpeeds, KeepsTheTwoWaysApart) {
    OwnSpeeds speeds;
    speeds.sent(Leg::Forward, kStart);
    speeds.sent(Leg::Backward, kStart);
    speeds.arrived(Leg::Forward, kTensor, kStart + 100ms);
    speeds.arrived(Leg::Backward, kTensor, kStart + 1s);
    const auto measured = speeds.measured(false, kStart + 1s);
    EXPECT_DOUBLE_EQ(measured.to_next_bytes_per_s, 1e6);
    EXPECT_DOUBLE_EQ(measured.to_previous_bytes_per_s, 1e5);
}

}  // namespace
}  // namespace stages
