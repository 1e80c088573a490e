#include "sim/pipe.hpp"

#include <gtest/gtest.h>

namespace sim {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart{};

TEST(Pipe, WithoutARateIsOpen) {
    EXPECT_TRUE(Pipe(0).is_open(kStart));
    EXPECT_FALSE(Pipe(1).is_open(kStart));
}

TEST(Pipe, BulkFramesShareTheRateOneAfterTheOther) {
    Pipe pipe(1000);
    pipe.add_bulk(7, 500, kStart);
    pipe.add_bulk(8, 250, kStart);
    EXPECT_EQ(pipe.bulk_done_at(), kStart + 500ms);
    EXPECT_EQ(pipe.take_bulk(kStart + 500ms), 7U);
    EXPECT_EQ(pipe.bulk_done_at(), kStart + 750ms);
    EXPECT_EQ(pipe.take_bulk(kStart + 750ms), 8U);
    EXPECT_EQ(pipe.bulk_done_at(), swarm::kNever);
}

TEST(Pipe, ControlGoesFirstAndBulkTakesThatMuchLonger) {
    Pipe pipe(1000);
    pipe.add_bulk(7, 500, kStart);
    EXPECT_EQ(pipe.pass_control(100, kStart + 200ms), kStart + 300ms);
    EXPECT_EQ(pipe.bulk_done_at(), kStart + 600ms);
}

TEST(Pipe, ControlFramesWaitForEachOther) {
    Pipe pipe(1000);
    EXPECT_EQ(pipe.pass_control(100, kStart), kStart + 100ms);
    EXPECT_EQ(pipe.pass_control(100, kStart + 50ms), kStart + 200ms);
    EXPECT_EQ(pipe.pass_control(100, kStart + 1s), kStart + 1100ms);
}

TEST(Pipe, ANewRateCountsFromTheNextFrameOn) {
    Pipe pipe(1000);
    pipe.add_bulk(7, 500, kStart);
    pipe.add_bulk(8, 500, kStart);
    pipe.set_rate(100);
    EXPECT_EQ(pipe.bulk_done_at(), kStart + 500ms);
    pipe.take_bulk(kStart + 500ms);
    EXPECT_EQ(pipe.bulk_done_at(), kStart + 5500ms);
}

TEST(Pipe, SetToUnlimitedStillLetsNothingOvertake) {
    Pipe pipe(1000);
    pipe.pass_control(500, kStart);
    pipe.set_rate(0);
    EXPECT_FALSE(pipe.is_open(kStart));
    EXPECT_EQ(pipe.pass_control(100, kStart), kStart + 500ms);
    EXPECT_TRUE(pipe.is_open(kStart + 500ms));
}

TEST(Pipe, WhenItsFirstFrameIsLostTheNextBeginsAnew) {
    Pipe pipe(1000);
    pipe.add_bulk(7, 500, kStart);
    pipe.add_bulk(8, 250, kStart);
    pipe.drop_bulk_if(kStart + 400ms, [](std::uint32_t frame) { return frame == 7; });
    EXPECT_EQ(pipe.bulk_done_at(), kStart + 650ms);
}

TEST(Pipe, CarriesFramesThatTakeLongerThanAnHour) {
    Pipe pipe(1);
    pipe.add_bulk(7, 1U << 30, kStart);
    EXPECT_EQ(pipe.bulk_done_at() - kStart, std::chrono::seconds(1U << 30));
}

}  // namespace
}  // namespace sim
