#include "stacking/sessions/row_lines.hpp"

#include "tests/start.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace stacking::sessions {
namespace {

using namespace std::chrono_literals;
using swarm::PeerId;
using swarm::TimePoint;
using swarm::protocol::SessionRows;
using swarm::protocol::SessionTaken;
using swarm::test::kStart;

constexpr PeerId kNext{{6}};
constexpr PeerId kOther{{7}};
constexpr std::uint64_t kBytes = 100'000;

SessionRows frame(std::uint32_t position, std::uint32_t rows = 256) {
    SessionRows message;
    message.id = {77, 1, 1};
    message.position = position;
    message.rows = rows;
    return message;
}

SessionTaken answer(std::uint32_t position) {
    return {{77, 1, 1}, position};
}

TEST(RowLines, AreMeasuredByFramesThatWereTaken) {
    RowLines lines;
    lines.sent(kNext, frame(0), kBytes, kStart);
    lines.sent(kNext, frame(256), kBytes, kStart);
    lines.taken(kNext, answer(0), kStart + 100ms);
    EXPECT_EQ(lines.bytes_per_s(kNext, kStart + 100ms), 0) << "one is under way";
    lines.taken(kNext, answer(256), kStart + 200ms);
    EXPECT_DOUBLE_EQ(lines.bytes_per_s(kNext, kStart + 200ms), 1e6);
    EXPECT_EQ(lines.bytes_per_s(kOther, kStart + 200ms), 0);
    EXPECT_DOUBLE_EQ(lines.bytes_per_s(kNext, kStart + 59s), 1e6);
    EXPECT_EQ(lines.bytes_per_s(kNext, kStart + 3min), 0) << "long ago";
}

TEST(RowLines, SingleRowsAreNotMeasured) {
    RowLines lines;
    lines.sent(kNext, frame(0, 1), kBytes, kStart);
    lines.sent(kNext, frame(1), kBytes, kStart);
    lines.taken(kNext, answer(1), kStart + 100ms);
    EXPECT_DOUBLE_EQ(lines.bytes_per_s(kNext, kStart + 100ms), 1e6);
}

/// Answers to frames that were not sent, or in another order, make no line look fast.
TEST(RowLines, AnUnexpectedAnswerDoesNotCount) {
    RowLines lines;
    lines.taken(kNext, answer(0), kStart);
    lines.sent(kNext, frame(0), kBytes, kStart);
    lines.sent(kNext, frame(256), kBytes, kStart);
    lines.taken(kNext, answer(256), kStart + 1ms);
    lines.taken(kNext, answer(0), kStart + 2ms);
    lines.taken(kNext, answer(256), kStart + 2ms);
    EXPECT_EQ(lines.bytes_per_s(kNext, kStart + 2ms), 0);
    lines.sent(kNext, frame(512), kBytes, kStart + 1s);
    lines.taken(kNext, answer(512), kStart + 2s);
    EXPECT_DOUBLE_EQ(lines.bytes_per_s(kNext, kStart + 2s), 1e5);
}

TEST(RowLines, TheRateOfABrokenLinkIsForgotten) {
    RowLines lines;
    lines.sent(kNext, frame(0), kBytes, kStart);
    lines.taken(kNext, answer(0), kStart + 100ms);
    lines.lost(kNext);
    EXPECT_EQ(lines.bytes_per_s(kNext, kStart + 100ms), 0);
}

/// A peer that does not answer costs the memory of 1,024 frames at most.
TEST(RowLines, UnansweredFramesAreKeptUpToABound) {
    RowLines lines;
    for (std::uint32_t i = 0; i < 5'000; ++i) {
        lines.sent(kNext, frame(i), kBytes, kStart);
    }
    for (std::uint32_t i = 0; i < 5'000; ++i) {
        lines.taken(kNext, answer(i), kStart + 1s);
    }
    EXPECT_DOUBLE_EQ(lines.bytes_per_s(kNext, kStart + 1s), 1024.0 * kBytes);
}

}  // namespace
}  // namespace stacking::sessions
