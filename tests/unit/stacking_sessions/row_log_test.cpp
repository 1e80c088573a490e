#include "stacking/sessions/row_log.hpp"

#include <gtest/gtest.h>

namespace stacking::sessions {
namespace {

constexpr std::uint32_t kRowsMax = 256;

/// Appends rows of one byte; byte and token of a row are its position.
void append(RowLog& log, std::uint32_t rows, bool wanted = false, bool held = false) {
    std::vector<std::byte> bytes;
    std::vector<TokenId> tokens;
    for (std::uint32_t i = 0; i < rows; ++i) {
        bytes.push_back(static_cast<std::byte>(log.upto() + i));
        tokens.push_back(log.upto() + i);
    }
    log.append({rows, wanted, held, bytes, tokens});
}

std::vector<std::byte> row_bytes(std::initializer_list<std::uint8_t> rows) {
    std::vector<std::byte> bytes;
    for (const std::uint8_t row : rows) {
        bytes.push_back(static_cast<std::byte>(row));
    }
    return bytes;
}

RowLog log_of(std::initializer_list<std::uint32_t> calls, bool keeps = true) {
    RowLog log({.row_bytes = 1, .with_tokens = true, .keeps = keeps});
    for (const std::uint32_t rows : calls) {
        append(log, rows);
    }
    return log;
}

TEST(RowLog, SendsNothingBeforeItsStartIsNamed) {
    RowLog log = log_of({3});
    EXPECT_FALSE(log.next(Replay::Exact, kRowsMax));
    ASSERT_TRUE(log.send_from(0));
    EXPECT_TRUE(log.next(Replay::Exact, kRowsMax));
    EXPECT_FALSE(log.next(Replay::Exact, kRowsMax));
}

TEST(RowLog, RepeatsTheCallsAsTheyWere) {
    RowLog log = log_of({3, 1, 1});
    ASSERT_TRUE(log.send_from(0));
    for (const std::uint32_t rows : {3U, 1U, 1U}) {
        const auto out = log.next(Replay::Exact, kRowsMax);
        ASSERT_TRUE(out);
        EXPECT_EQ(out->rows, rows);
        EXPECT_EQ(out->bytes.front(), static_cast<std::byte>(out->position));
        EXPECT_EQ(out->tokens.front(), out->position);
    }
}

TEST(RowLog, MergesCallsInAFastReplay) {
    RowLog log = log_of({3, 1, 1});
    ASSERT_TRUE(log.send_from(1));
    const auto out = log.next(Replay::Fast, kRowsMax);
    ASSERT_TRUE(out);
    EXPECT_EQ(out->position, 1U);
    EXPECT_EQ(out->bytes, row_bytes({1, 2, 3, 4}));
    EXPECT_EQ(out->tokens, (std::vector<TokenId>{1, 2, 3, 4}));
}

TEST(RowLog, MergesNoMoreThanAFrameTakes) {
    RowLog log = log_of({200, 50, 50});
    ASSERT_TRUE(log.send_from(0));
    EXPECT_EQ(log.next(Replay::Fast, kRowsMax)->rows, 250U);
    EXPECT_EQ(log.next(Replay::Fast, kRowsMax)->rows, 50U);
}

TEST(RowLog, OnlyTheLatestCallOfARouteIsWanted) {
    RowLog log({.row_bytes = 1, .with_tokens = true, .keeps = true});
    append(log, 2, true);
    log.begin(2);
    append(log, 1, true);
    ASSERT_TRUE(log.send_from(0));
    EXPECT_FALSE(log.next(Replay::Exact, kRowsMax)->wanted);
    EXPECT_TRUE(log.next(Replay::Exact, kRowsMax)->wanted);
}

TEST(RowLog, ANewRouteForgetsTheRowsAboveIt) {
    RowLog log = log_of({3, 1, 1});
    log.begin(4);
    EXPECT_EQ(log.upto(), 4U);
    append(log, 1);
    ASSERT_TRUE(log.send_from(3));
    const auto out = log.next(Replay::Fast, kRowsMax);
    EXPECT_EQ(out->bytes, row_bytes({3, 4}));
    EXPECT_EQ(out->tokens, (std::vector<TokenId>{3, 4}));
}

TEST(RowLog, ACutInsideACallLeavesItsBeginning) {
    RowLog log = log_of({5});
    log.begin(2);
    ASSERT_TRUE(log.send_from(0));
    EXPECT_EQ(log.next(Replay::Exact, kRowsMax)->rows, 2U);
}

TEST(RowLog, ForgetsSentRowsThatItMayNotKeep) {
    RowLog log = log_of({3}, false);
    ASSERT_TRUE(log.send_from(0));
    EXPECT_EQ(log.next(Replay::Exact, kRowsMax)->rows, 3U);
    EXPECT_EQ(log.kept_from(), 3U);
    EXPECT_FALSE(log.send_from(2));
    EXPECT_TRUE(log.send_from(3));
    append(log, 2);
    const auto later = log.next(Replay::Exact, kRowsMax);
    EXPECT_EQ(later->bytes, row_bytes({3, 4}));
    EXPECT_EQ(later->tokens, (std::vector<TokenId>{3, 4}));
}

TEST(RowLog, WaitsWhenTheNextHopIsFurther) {
    RowLog log = log_of({3});
    ASSERT_TRUE(log.send_from(4));
    EXPECT_FALSE(log.next(Replay::Exact, kRowsMax));
    append(log, 3);
    EXPECT_EQ(log.next(Replay::Exact, kRowsMax)->bytes, row_bytes({4, 5}));
}

TEST(RowLog, ACutSendsNothingThatTheNextHopHas) {
    RowLog log = log_of({3});
    ASSERT_TRUE(log.send_from(4));
    log.cut(3);
    append(log, 3);
    const auto out = log.next(Replay::Exact, kRowsMax);
    EXPECT_EQ(out->position, 4U);
    EXPECT_EQ(out->bytes, row_bytes({4, 5}));
    log.cut(5);
    append(log, 1);
    EXPECT_EQ(log.next(Replay::Exact, kRowsMax)->position, 5U) << "what was cut goes out anew";
}

TEST(RowLog, HoldsBackARowThatEndedItsTokensPath) {
    RowLog log = log_of({2});
    ASSERT_TRUE(log.send_from(0));
    EXPECT_TRUE(log.next(Replay::Exact, kRowsMax));
    append(log, 1, true, true);
    EXPECT_FALSE(log.next(Replay::Exact, kRowsMax));
    append(log, 1, true);
    const auto held = log.next(Replay::Exact, kRowsMax);
    EXPECT_EQ(held->position, 2U);
    EXPECT_FALSE(held->wanted);
    EXPECT_TRUE(log.next(Replay::Exact, kRowsMax)->wanted);
}

}  // namespace
}  // namespace stacking::sessions
