// Hops that take rows: the last one, which samples, and one behind a bridge.
#include "tests/unit/stacking_sessions/hop_bench.hpp"

#include <cstring>
#include <limits>

namespace stacking::sessions {
namespace {

class LastHopTest : public HopTableTest {
 protected:
    LastHopTest() : HopTableTest({2, 3}) {}

    protocol::SessionOpen last() const {
        auto message = open();
        message.id.hop = 2;
        message.previous = {kNext, ""};
        return message;
    }

    SessionRows onward(std::uint32_t position, bool wanted) const {
        SessionRows message;
        message.id = {kSession, 1, 2};
        message.position = position;
        message.rows = 1;
        message.wanted = wanted;
        return message;
    }

    std::uint32_t route_ = 0;

    static node::Payload payload(std::vector<float> values, std::uint32_t rows = 1) {
        std::vector<std::byte> bytes(values.size() * sizeof(float));
        std::memcpy(bytes.data(), values.data(), bytes.size());
        return {{protocol::Dtype::Float32, protocol::CodecId::None, {rows, 4}}, std::move(bytes)};
    }
};

TEST_F(LastHopTest, CannotBeTheFirstHopWithoutTheEmbedding) {
    auto alone = open();
    alone.hops = 1;
    EXPECT_EQ(reason_of(take(kClient, alone)), SessionReason::Mismatch);
}

TEST_F(LastHopTest, SamplesOnlyAfterWantedRows) {
    take(kClient, last());
    EXPECT_TRUE(sent<SessionToken>(take(kNext, onward(0, false), payload({1, 2, 3, 4}))).empty());
    const auto tokens = sent<SessionToken>(take(kNext, onward(1, true), payload({1, 2, 3, 5})));
    ASSERT_EQ(tokens.size(), 1U);
    EXPECT_EQ(tokens[0].first, kClient);
    EXPECT_EQ(tokens[0].second.position, 2U);
    EXPECT_EQ(tokens[0].second.top.size(), 1U);
}

/// The answers let the hop before measure its line, so they come for rows that are refused, too.
TEST_F(LastHopTest, AnswersFramesOfManyRows) {
    take(kClient, last());
    EXPECT_TRUE(
        sent<protocol::SessionTaken>(take(kNext, onward(0, false), payload({1, 2, 3, 4}))).empty()
    );
    SessionRows two = onward(1, false);
    two.rows = 2;
    for (int times = 0; times < 2; ++times) {  // the second frame does not continue the cache
        const auto taken =
            sent<protocol::SessionTaken>(take(kNext, two, payload({1, 2, 3, 4, 5, 6, 7, 8}, 2)));
        ASSERT_EQ(taken.size(), 1U);
        EXPECT_EQ(taken[0].first, kNext);
        EXPECT_EQ(taken[0].second, (protocol::SessionTaken{two.id, 1}));
    }
    two.id.session = kSession + 1;  // unknown session
    EXPECT_EQ(sent<protocol::SessionTaken>(take(kNext, two, payload({1, 2, 3, 4}, 2))).size(), 1U);
}

TEST_F(LastHopTest, RowsOfAnotherShapeOrNotFiniteAreInvalid) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::uint32_t route = 0;
    for (const node::Payload& wrong :
         {payload({1, 2, 3}), payload({1, 2, 3, 4}, 2), payload({1, 2, nan, 4}), node::Payload()}) {
        auto message = last();
        message.id.route = ++route;
        take(kClient, message);
        auto wrong_rows = onward(0, true);
        wrong_rows.id.route = route;
        EXPECT_EQ(reason_of(take(kNext, wrong_rows, wrong)), SessionReason::Invalid);
    }
}

TEST_F(LastHopTest, RowsAreReadAsTheyAreCoded) {
    const std::vector<float> row{1, 2, 3, 4};
    const auto coded = [&](protocol::CodecId id) {
        return *encode_rows(*compression::find_codec(id), 4, row);
    };
    const auto taken = [&](protocol::CodecId id, std::vector<std::byte> bytes) {
        auto message = last();
        message.id.route = ++route_;
        take(kClient, message);
        auto rows = onward(0, true);
        rows.id.route = route_;
        const node::Payload payload({protocol::Dtype::Float32, id, {1, 4}}, std::move(bytes));
        const node::Outbox out = take(kNext, rows, payload);
        return sent<SessionTrouble>(out).empty()          ? sent<SessionToken>(out).size()
               : reason_of(out) == SessionReason::Invalid ? 0U
                                                          : 99U;
    };
    using enum protocol::CodecId;
    for (const protocol::CodecId id : {None, Bf16, Fp16}) {
        EXPECT_EQ(taken(id, coded(id)), 1U);
        std::vector<std::byte> torn = coded(id);
        torn.pop_back();
        EXPECT_EQ(taken(id, torn), 0U);
        EXPECT_EQ(taken(id, {}), 0U);
    }
    EXPECT_EQ(taken(Int8, coded(None)), 0U);
    EXPECT_EQ(taken(Int8, std::vector<std::byte>(8, std::byte{0xff})), 0U);  // the scale is NaN
    EXPECT_EQ(taken(Int4, coded(Int4)), 0U);
    EXPECT_EQ(taken(BytePlanes, coded(None)), 0U);
}

TEST_F(LastHopTest, TokensThatTheHopDoesNotReadAreInvalid) {
    take(kClient, last());
    auto rows = onward(0, true);
    rows.tokens = {3};
    EXPECT_EQ(reason_of(take(kNext, rows, payload({1, 2, 3, 4}))), SessionReason::Invalid);
}

class BridgeTest : public HopTableTest {
 protected:
    BridgeTest() : HopTableTest({0, 1}, Front::Bridge) {}

    /// The second hop of three.
    protocol::SessionOpen second(std::uint32_t route, std::uint32_t tokens_upto = 1) const {
        auto message = open(route);
        message.id.hop = 1;
        message.tokens_upto = tokens_upto;
        return message;
    }

    SessionReason refusal(std::uint32_t route, std::vector<TokenId> tokens, std::uint32_t width) {
        take(kClient, second(route));
        SessionRows message = rows(0, 2, route);
        message.id.hop = 1;
        message.tokens = std::move(tokens);
        std::vector<std::byte> bytes(2 * std::size_t{width} * sizeof(float));
        const node::Payload payload(
            {protocol::Dtype::Float32, protocol::CodecId::None, {2, width}}, std::move(bytes)
        );
        return reason_of(take(kClient, message, payload));
    }
};

TEST_F(BridgeTest, NeedsAHopThatReadsRowsAndTokens) {
    EXPECT_EQ(reason_of(take(kClient, open())), SessionReason::Mismatch);
    EXPECT_EQ(reason_of(take(kClient, second(1, 0))), SessionReason::Mismatch);
    EXPECT_EQ(sent<SessionOpened>(take(kClient, second(1))).size(), 1U);
    EXPECT_EQ(reason_of(take(kClient, second(2, 2))), SessionReason::Unknown);  // another path
}

TEST_F(BridgeTest, RowsWithoutTheirTokensOrOfAnotherWidthAreInvalid) {
    EXPECT_EQ(refusal(1, {}, 4), SessionReason::Invalid);
    EXPECT_EQ(refusal(2, {3}, 4), SessionReason::Invalid);
    EXPECT_EQ(refusal(3, {3, OracleModel{}.vocabulary}, 4), SessionReason::Invalid);
    EXPECT_EQ(refusal(4, {3, 4}, 5), SessionReason::Invalid);
    EXPECT_EQ(sent<SessionOpened>(take(kClient, second(5))).at(0).second.filled_upto, 0U);
}

TEST_F(LastHopTest, ACallThatFailsEndsTheHop) {
    take(kClient, last());
    EXPECT_EQ(
        reason_of(take(kNext, onward(0, true), payload({0.5, 0, 0, 0}))), SessionReason::Failed
    );
    EXPECT_EQ(table_->hops(), 0U);
    EXPECT_EQ(compute_->reserved_positions(), 0U);
}

TEST_F(LastHopTest, JudgesTheTextThatTheClientNames) {
    const std::vector<std::uint32_t> text{10, 20, 30};
    auto asked = last();
    asked.sampling.top = 97;
    take(kClient, asked);
    std::vector<double> log_probability;  // each token of the text, after the rows before it
    for (std::uint32_t row = 0; row < 2; ++row) {
        const auto told = sent<SessionToken>(take(kNext, onward(row, true), payload({1, 2, 3, 4})));
        ASSERT_EQ(told.size(), 1U);
        EXPECT_EQ(told[0].second.text_log_probability, 0);
        for (const protocol::TokenScore& score : told[0].second.top) {
            if (score.token == text[row + 1]) {
                log_probability.push_back(score.log_probability);
            }
        }
    }
    ASSERT_EQ(log_probability.size(), 2U);

    asked.id.route = 2;
    asked.text = text;
    take(kClient, asked);
    const auto send_on = [&](std::uint32_t position, bool wanted) {
        SessionRows message = onward(position, wanted);
        message.id.route = asked.id.route;
        return sent<SessionToken>(take(kNext, message, payload({1, 2, 3, 4})));
    };
    EXPECT_TRUE(send_on(0, false).empty());
    const auto early = send_on(1, true);  // one row is judged and wanted
    ASSERT_EQ(early.size(), 1U);
    const double both = log_probability[0] + log_probability[1];
    EXPECT_EQ(early[0].second.text_log_probability, both);
    const auto later = send_on(2, true);
    ASSERT_EQ(later.size(), 1U);
    EXPECT_EQ(later[0].second.text_log_probability, both);

    asked.id.route = 3;  // repeats the second call, whose token counts once
    take(kClient, asked);
    const auto again = send_on(1, true);
    ASSERT_EQ(again.size(), 1U);
    EXPECT_EQ(again[0].second.text_log_probability, both);
    EXPECT_EQ(again[0].second.top, early[0].second.top);
}

TEST_F(LastHopTest, ATextFromTheMiddleIsJudgedFromItsFirstToken) {
    auto asked = last();
    asked.text_from = 1;
    asked.text = {20};
    take(kClient, asked);
    const auto told = sent<SessionToken>(take(kNext, onward(0, true), payload({1, 2, 3, 4})));
    ASSERT_EQ(told.size(), 1U);
    EXPECT_LT(told[0].second.text_log_probability, 0);
}

TEST_F(LastHopTest, ATextOfUnknownTokensIsRefused) {
    auto asked = last();
    asked.text = {10, 97};
    EXPECT_EQ(reason_of(take(kClient, asked)), SessionReason::Mismatch);
}

}  // namespace
}  // namespace stacking::sessions
