// When a call waits for more tokens: those of sessions that are together share one call.
#include "tests/unit/stacking_sessions/hop_bench.hpp"

#include <utility>

namespace stacking::sessions {
namespace {

constexpr std::uint64_t kOtherSession = kSession + 1;

class GatheredTokens : public HopTableTest {
 protected:
    GatheredTokens() {
        call_time_ = 10ms;
        for (const std::uint64_t session : {kSession, kOtherSession}) {
            take(kClient, open(1, session));
            send(session, 0, 2);
        }
    }

    /// Returns how many calls of the device have followed at once.
    std::size_t send(std::uint64_t session, std::uint32_t position, std::uint32_t count = 1) {
        SessionRows message = rows(position, count);
        message.id.session = session;
        return calls(take_rows(kClient, message));
    }

    /// Returns how many calls of the device follow.
    std::size_t wake() { return calls(HopTableTest::wake()); }

    static std::size_t calls(const node::Outbox& out) {
        std::size_t count = 0;
        for (const node::Action& action : out.actions) {
            count += std::holds_alternative<node::Compute>(action) ? 1 : 0;
        }
        return count;
    }
};

TEST_F(GatheredTokens, ATokenAloneIsComputedAtOnce) {
    now_ += 10ms;
    EXPECT_EQ(send(kSession, 2), 1U);
    now_ += 10ms;
    EXPECT_EQ(send(kSession, 3), 1U);
}

TEST_F(GatheredTokens, TokensOfTwoSessionsShareACall) {
    send(kSession, 2);
    now_ += 10ms;
    EXPECT_EQ(send(kOtherSession, 2), 0U);
    const TimePoint until = table_->next_deadline();
    EXPECT_GT(until, now_);
    EXPECT_LT(until, now_ + 1ms);
    now_ += (until - now_) / 2;
    EXPECT_EQ(send(kSession, 3), 0U) << "each one lets the next one come";
    EXPECT_GT(table_->next_deadline(), until);
    EXPECT_EQ(wake(), 0U);
    now_ = table_->next_deadline();
    EXPECT_EQ(wake(), 1U);
    EXPECT_EQ(compute_->gaps(), 0U);
    EXPECT_EQ(send(kOtherSession, 3) + send(kSession, 4), 0U) << "both were in the call";
}

TEST_F(GatheredTokens, NoneWaitsLong) {
    constexpr std::uint64_t kFurther = 20;
    for (std::uint64_t i = 1; i <= kFurther; ++i) {
        take(kClient, open(1, kOtherSession + i));
    }
    send(kSession, 2);
    EXPECT_EQ(send(kOtherSession, 2), 0U);
    const TimePoint since = now_;
    std::uint64_t came = 0;
    for (; came < kFurther; ++came) {
        EXPECT_LT(table_->next_deadline(), since + call_time_ / 2);
        now_ += 400us;
        if (wake() > 0) {
            break;
        }
        EXPECT_EQ(send(kOtherSession + 1 + came, 0), 0U);
    }
    EXPECT_GT(came, 1U);
    EXPECT_LT(came, kFurther) << "they came without end";
}

TEST_F(GatheredTokens, APromptIsReadAtOnce) {
    send(kSession, 2);
    take(kClient, open(1, 99));
    EXPECT_EQ(send(99, 0, 3), 1U);
    EXPECT_EQ(send(kOtherSession, 2), 0U);
}

TEST_F(GatheredTokens, ATextUnderWayWaitsForOneCallOfNewcomers) {
    node::Outbox out;
    const auto send_only = [&](std::uint64_t session, std::uint32_t position, std::uint32_t count) {
        SessionRows message = rows(position, count);
        message.id.session = session;
        table_->take(kClient, message, node::Payload(), {now_, out});
    };
    /// Ends the device's call, and returns its rows.
    const auto end_call = [&] {
        const std::uint64_t before = compute_->rows();
        node::Outbox later;
        for (const node::Action& action : out.actions) {
            if (const auto* compute = std::get_if<node::Compute>(&action)) {
                compute->work->run();
                table_->computed(compute->job, {now_, later});
            }
        }
        out = std::move(later);
        return compute_->rows() - before;
    };
    for (const std::uint64_t newcomer : {90U, 91U, 92U}) {
        take(kClient, open(1, newcomer));
        send_only(newcomer, 0, 3);
    }
    send_only(kSession, 2, 1);
    EXPECT_EQ(end_call(), 3U);
    EXPECT_EQ(end_call(), 1U) << "the token is not last, though it came last";
    EXPECT_EQ(end_call(), 6U) << "short texts share a call";
    EXPECT_EQ(compute_->gaps(), 0U);
}

TEST_F(GatheredTokens, ASessionThatIsAloneAgainWaitsForNobody) {
    send(kSession, 2);
    EXPECT_EQ(send(kOtherSession, 2), 0U);
    now_ = table_->next_deadline();
    EXPECT_EQ(wake(), 1U);
    now_ += 2 * TokenGather::kTogether;
    send(kSession, 3);
    now_ += 10ms;
    wake();
    now_ += 10ms;
    EXPECT_EQ(send(kSession, 4), 1U);
}

TEST_F(GatheredTokens, TwoHopsOfOneSessionAreNotTogether) {
    protocol::SessionOpen second = open(1, kSession);
    second.id.hop = 1;
    take(kClient, second);
    now_ += 2 * TokenGather::kTogether;
    SessionRows onward = rows(0, 1);
    onward.id.hop = 1;
    onward.tokens.clear();
    const std::vector<float> row(OracleModel::kNumbersOfState, 1);
    const auto bytes = std::as_bytes(std::span(row));
    const node::Payload payload(
        {protocol::Dtype::Float32, protocol::CodecId::None, {1, OracleModel::kNumbersOfState}},
        {bytes.begin(), bytes.end()}
    );
    EXPECT_EQ(calls(take(kClient, onward, payload)), 1U);
    EXPECT_EQ(send(kSession, 2), 1U);
    onward.position = 1;
    EXPECT_EQ(calls(take(kClient, onward, payload)), 1U);
}

}  // namespace
}  // namespace stacking::sessions
