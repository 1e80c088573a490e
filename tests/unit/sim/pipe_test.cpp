// Times by hand: rates of 1,000 bytes per second, so a byte takes a millisecond.
#include "sim/pipe.hpp"

#include "swarm/base/rng.hpp"
#include "tests/start.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace sim {
namespace {

using namespace std::chrono_literals;
using swarm::test::kStart;

constexpr Pipe::Flow kOne = 1;
constexpr Pipe::Flow kTwo = 2;
constexpr Pipe::Flow kThree = 3;

/// (frame, when it was through), until nothing waits.
std::vector<std::pair<std::uint32_t, Duration>> drain(Pipe& pipe) {
    std::vector<std::pair<std::uint32_t, Duration>> done;
    while (pipe.bulk_done_at() != swarm::kNever) {
        const TimePoint at = pipe.bulk_done_at();
        done.emplace_back(pipe.take_bulk(at), at - kStart);
    }
    return done;
}

using Done = decltype(drain(std::declval<Pipe&>()));

TEST(Pipe, WithoutARateIsOpen) {
    EXPECT_TRUE(Pipe(0).is_open(kStart));
    EXPECT_FALSE(Pipe(1).is_open(kStart));
}

TEST(Pipe, FramesOfOneLinkGoOneAfterTheOther) {
    Pipe pipe(1000);
    pipe.add_bulk(kOne, 7, 500, kStart);
    pipe.add_bulk(kOne, 8, 250, kStart);
    EXPECT_EQ(drain(pipe), (Done{{7, 500ms}, {8, 750ms}}));
}

TEST(Pipe, SaysWhichFramesBegin) {
    Pipe pipe(1000);
    const auto begun = [&] {
        std::vector<std::uint32_t> frames;
        pipe.visit_begun([&](std::uint32_t frame) { frames.push_back(frame); });
        return frames;
    };
    pipe.add_bulk(kOne, 7, 500, kStart);
    pipe.add_bulk(kOne, 8, 250, kStart);
    pipe.add_bulk(kTwo, 9, 900, kStart);
    EXPECT_EQ(begun(), (std::vector<std::uint32_t>{7, 9}));
    EXPECT_EQ(pipe.take_bulk(pipe.bulk_done_at()), 7U);
    EXPECT_EQ(begun(), (std::vector<std::uint32_t>{8}));
    EXPECT_EQ(begun(), (std::vector<std::uint32_t>{}));
}

TEST(Pipe, LinksShareTheRate) {
    Pipe pipe(1000);
    pipe.add_bulk(kOne, 7, 400, kStart);
    pipe.add_bulk(kTwo, 8, 100, kStart);
    // Half the rate each until 8 is through, then 300 bytes at the full rate.
    EXPECT_EQ(drain(pipe), (Done{{8, 200ms}, {7, 500ms}}));
}

TEST(Pipe, AFlowThatStandsForThreeLinksGetsThreeShares) {
    Pipe pipe(1000);
    pipe.add_bulk(kOne, 7, 300, kStart, 3);
    pipe.add_bulk(kTwo, 8, 200, kStart);
    // 7 is through when 8 has had 100; then 8 has the line for itself.
    EXPECT_EQ(drain(pipe), (Done{{7, 400ms}, {8, 500ms}}));
}

TEST(Pipe, ALinkThatComesLaterGetsItsShareFromThenOn) {
    Pipe pipe(1000);
    pipe.add_bulk(kOne, 7, 500, kStart);
    pipe.add_bulk(kTwo, 8, 100, kStart + 200ms);
    pipe.add_bulk(kThree, 9, 300, kStart + 200ms);
    // 7 has 300 left at 200 ms. A third each: 8 needs 300 ms and leaves 200 to both others.
    EXPECT_EQ(drain(pipe), (Done{{8, 500ms}, {7, 900ms}, {9, 900ms}}));
}

TEST(Pipe, ALinkWithManyFramesGetsNoMoreThanOneWithASingleFrame) {
    Pipe pipe(1000);
    for (std::uint32_t frame = 0; frame < 4; ++frame) {
        pipe.add_bulk(kOne, frame, 100, kStart);
    }
    pipe.add_bulk(kTwo, 9, 200, kStart);
    EXPECT_EQ(drain(pipe), (Done{{0, 200ms}, {9, 400ms}, {1, 400ms}, {2, 500ms}, {3, 600ms}}));
}

TEST(Pipe, ControlGoesFirstAndBulkTakesThatMuchLonger) {
    Pipe pipe(1000);
    pipe.add_bulk(kOne, 7, 500, kStart);
    EXPECT_EQ(pipe.pass_control(100, kStart + 200ms), kStart + 300ms);
    EXPECT_EQ(pipe.bulk_done_at(), kStart + 600ms);
}

TEST(Pipe, BulkThatComesWhileControlIsCarriedWaitsForIt) {
    Pipe pipe(1000);
    pipe.pass_control(100, kStart);
    pipe.add_bulk(kOne, 7, 500, kStart + 50ms);
    pipe.pass_control(100, kStart + 60ms);
    EXPECT_EQ(pipe.bulk_done_at(), kStart + 700ms);
}

TEST(Pipe, ControlFramesWaitForEachOther) {
    Pipe pipe(1000);
    EXPECT_EQ(pipe.pass_control(100, kStart), kStart + 100ms);
    EXPECT_EQ(pipe.pass_control(100, kStart + 50ms), kStart + 200ms);
    EXPECT_EQ(pipe.pass_control(100, kStart + 1s), kStart + 1100ms);
}

TEST(Pipe, ANewRateCountsAtOnce) {
    Pipe pipe(1000);
    pipe.add_bulk(kOne, 7, 500, kStart);
    pipe.add_bulk(kOne, 8, 500, kStart);
    pipe.set_rate(100, kStart + 100ms);
    EXPECT_EQ(drain(pipe), (Done{{7, 4100ms}, {8, 9100ms}}));
}

TEST(Pipe, SetToUnlimitedStillLetsNothingOvertake) {
    Pipe pipe(1000);
    pipe.pass_control(500, kStart);
    pipe.add_bulk(kOne, 7, 500, kStart);
    pipe.set_rate(0, kStart);
    EXPECT_FALSE(pipe.is_open(kStart));
    EXPECT_EQ(pipe.pass_control(100, kStart), kStart + 500ms);
    EXPECT_FALSE(pipe.is_open(kStart + 500ms));
    EXPECT_EQ(drain(pipe), (Done{{7, 500ms}}));
    EXPECT_TRUE(pipe.is_open(kStart + 500ms));
}

TEST(Pipe, WhenItsFirstFrameIsLostTheNextBeginsAnew) {
    Pipe pipe(1000);
    pipe.add_bulk(kOne, 7, 500, kStart);
    pipe.add_bulk(kOne, 8, 250, kStart);
    pipe.drop_bulk_if(kStart + 400ms, [](std::uint32_t frame) { return frame == 7; });
    EXPECT_EQ(drain(pipe), (Done{{8, 650ms}}));
}

TEST(Pipe, ALostLinkLeavesItsShareToTheOthers) {
    Pipe pipe(1000);
    pipe.add_bulk(kOne, 7, 500, kStart);
    pipe.add_bulk(kTwo, 8, 500, kStart);
    pipe.drop_bulk_if(kStart + 200ms, [](std::uint32_t frame) { return frame == 7; });
    EXPECT_EQ(drain(pipe), (Done{{8, 600ms}}));
}

TEST(Pipe, AThirdOfAByteIsNotLost) {
    Pipe pipe(1000);
    for (const Pipe::Flow flow : {kOne, kTwo, kThree}) {
        pipe.add_bulk(flow, static_cast<std::uint32_t>(flow), 100, kStart);
    }
    // Looked at every 7 ms, which no third of the rate divides.
    for (Duration at{}; at < 300ms; at += 7ms) {
        pipe.pass_control(0, kStart + at);
    }
    EXPECT_EQ(drain(pipe), (Done{{1, 300ms}, {2, 300ms}, {3, 300ms}}));
}

TEST(Pipe, CarriesFramesThatTakeLongerThanAnHour) {
    Pipe pipe(1);
    pipe.add_bulk(kOne, 7, 1U << 30, kStart);
    EXPECT_EQ(pipe.bulk_done_at() - kStart, std::chrono::seconds(1U << 30));
}

TEST(Pipe, AFrameWhoseTimeWouldOverflowTakesTheLongestTime) {
    Pipe pipe(1);
    for (std::uint32_t frame = 0; frame < 20; ++frame) {
        pipe.add_bulk(frame, frame, Pipe::kFrameBytesMax, kStart);
    }
    EXPECT_EQ(pipe.bulk_done_at() - kStart, Pipe::kLongest);
    EXPECT_EQ(pipe.pass_control(~0ULL, kStart) - kStart, Pipe::kLongest);
}

TEST(Pipe, StaysExactOverTerabytesWithoutAPause) {
    Pipe pipe(1'000'000'000);
    constexpr std::uint64_t kFrame = 4'000'000'000;
    for (std::uint32_t frame = 0; frame < 1000; ++frame) {
        pipe.add_bulk(frame % 2, frame, kFrame, kStart);
    }
    EXPECT_EQ(drain(pipe).back(), (std::pair<std::uint32_t, Duration>{999, 4000s}));
}

TEST(Pipe, AFrameThatStandsForSeveralGetsAShareForEach) {
    Pipe pipe(1000);
    pipe.add_bulk(kOne, 1, 300, kStart);
    pipe.add_bulk(kTwo, 2, 300, kStart);
    pipe.join_bulk(kTwo, 300, kStart);
    EXPECT_EQ(drain(pipe), (Done{{1, 900ms}, {2, 900ms}}));
}

TEST(Pipe, AFrameThatStandsForSeveralLosesTheSharesOfThoseThatAreThrough) {
    Pipe pipe(1000);
    pipe.add_bulk(kTwo, 2, 300, kStart);
    pipe.join_bulk(kTwo, 300, kStart + 300ms);
    pipe.add_bulk(kOne, 1, 300, kStart + 300ms);
    EXPECT_EQ(drain(pipe), (Done{{2, 900ms}, {1, 900ms}}));
}

/// Frames at random times on random links: how long the line needs for all.
Duration busy_time(std::uint64_t bytes_per_s, std::uint64_t seed, std::uint64_t& bytes) {
    swarm::Rng rng(seed, 1);
    Pipe pipe(bytes_per_s);
    TimePoint now = kStart;
    for (std::uint32_t frame = 0; frame < 500; ++frame) {
        const std::uint64_t size = 1 + rng.below(10'000);
        bytes += size;
        if (rng.chance(1, 4)) {
            pipe.pass_control(size, now);
        } else {
            pipe.add_bulk(rng.below(7), frame, size, now);
        }
        const TimePoint next = now + Duration(rng.below(100'000));
        while (pipe.bulk_done_at() <= next) {
            now = pipe.bulk_done_at();
            pipe.take_bulk(now);
        }
        now = next;
    }
    const TimePoint control_free_at = pipe.pass_control(0, now);
    const Done rest = drain(pipe);
    return rest.empty() ? control_free_at - kStart : rest.back().second;
}

TEST(Pipe, IsNeverIdleWhileSomethingWaits) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        std::uint64_t bytes = 0;
        constexpr std::uint64_t kRate = 999'983;  // a prime: no division comes out even
        const Duration took = busy_time(kRate, seed, bytes);
        const auto least = Duration(bytes * 1'000'000'000 / kRate);
        EXPECT_GE(took, least - 1us) << "seed " << seed;
        EXPECT_LE(took, least + 1us) << "seed " << seed;
    }
}

}  // namespace
}  // namespace sim
