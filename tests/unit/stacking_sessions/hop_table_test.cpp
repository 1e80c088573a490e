// A server's hops against peers that lie, repeat themselves, or come too late: the cache takes what
// continues it and nothing else.
#include "stacking/sessions/hop_table.hpp"

#include "stacking/sessions/oracle_session_compute.hpp"
#include "swarm/protocol/limits.hpp"
#include "tests/unit/stacking_sessions/bench.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

namespace stacking::sessions {
namespace {

using namespace std::chrono_literals;
using protocol::SessionOpened;
using protocol::SessionReason;
using protocol::SessionRows;
using protocol::SessionToken;
using protocol::SessionTrouble;

constexpr PeerId kSelf{{5}};
constexpr PeerId kNext{{6}};
constexpr PeerId kClient{{9}};
constexpr PeerId kStranger{{8}};
constexpr std::uint64_t kSession = 77;

class HopTableTest : public testing::Test {
 protected:
    /// Layers of a model of three.
    explicit HopTableTest(protocol::LayerRange layers = {0, 1}, std::uint64_t budget = 100) {
        compute_ =
            std::make_shared<OracleSessionCompute>(OracleModel{.exits = false}, layers, budget);
        HopTable::Options options;
        options.self = kSelf;
        options.host = {digest_of(1), 3, layers, digest_of(2)};
        options.compute = compute_;
        options.ttl = 10s;
        layers_ = layers;
        table_.emplace(std::move(options), links_);
        links_.on(node::LinkUp{kNext, node::Lane::Bulk, {1}});
    }

    protocol::SessionOpen open(std::uint32_t route = 1, std::uint64_t session = kSession) const {
        protocol::SessionOpen open;
        open.id = {session, route, 0};
        open.hops = 3;
        open.model = digest_of(1);
        open.layers = layers_;
        open.positions = 20;
        open.previous = {kClient, ""};
        open.next = {kNext, ""};
        return open;
    }

    SessionRows rows(std::uint32_t position, std::uint32_t count, std::uint32_t route = 1) const {
        SessionRows rows;
        rows.id = {kSession, route, 0};
        rows.position = position;
        rows.rows = count;
        rows.tokens.assign(count, 3);
        return rows;
    }

    /// Lets it take this and runs its device until that has nothing to do.
    template <class... Message>
    node::Outbox take(PeerId from, const Message&... message) {
        node::Outbox all;
        node::Outbox out;
        table_->take(from, message..., {now_, out});
        while (!out.actions.empty()) {
            node::Outbox later;
            for (node::Action& action : out.actions) {
                if (const auto* compute = std::get_if<node::Compute>(&action)) {
                    compute->work->run();
                    if (compute->answered) {
                        table_->computed(compute->job, {now_, later});
                    }
                }
                all.actions.push_back(std::move(action));
            }
            out = std::move(later);
        }
        return all;
    }

    node::Outbox take_rows(PeerId from, const SessionRows& message) {
        return take(from, message, node::Payload());
    }

    SessionReason reason_of(const node::Outbox& out) {
        const auto troubles = sent<SessionTrouble>(out);
        EXPECT_EQ(troubles.size(), 1U);
        return troubles.empty() ? SessionReason::Failed : troubles[0].second.reason;
    }

    std::uint32_t filled(std::uint32_t route) {
        const auto opened = sent<SessionOpened>(take(kClient, open(route)));
        EXPECT_EQ(opened.size(), 1U);
        return opened.empty() ? 0 : opened[0].second.filled_upto;
    }

    TimePoint now_{};
    LinkBook links_;
    protocol::LayerRange layers_;
    std::shared_ptr<OracleSessionCompute> compute_;
    std::optional<HopTable> table_;
};

TEST_F(HopTableTest, OpensFillsAndSendsOn) {
    EXPECT_EQ(filled(1), 0U);
    EXPECT_TRUE(sent<SessionRows>(take_rows(kClient, rows(0, 2))).empty());
    const auto out = take(kClient, protocol::SessionResume{{kSession, 1, 0}, 0, 0});
    const auto onward = sent<SessionRows>(out);
    ASSERT_EQ(onward.size(), 1U);
    EXPECT_EQ(onward[0].first, kNext);
    EXPECT_EQ(onward[0].second.id.hop, 1U);
    EXPECT_EQ(onward[0].second.rows, 2U);
}

TEST_F(HopTableTest, RowsThatSkipAPositionAreAGap) {
    take(kClient, open());
    take_rows(kClient, rows(0, 2));
    EXPECT_EQ(reason_of(take_rows(kClient, rows(3, 1))), SessionReason::Gap);
    EXPECT_EQ(filled(2), 2U);
    EXPECT_EQ(reason_of(take_rows(kClient, rows(3, 1, 2))), SessionReason::Gap);
    EXPECT_EQ(compute_->gaps(), 0U);
}

TEST_F(HopTableTest, RowsThatComeTwiceOnARouteAreAGap) {
    take(kClient, open());
    take_rows(kClient, rows(0, 2));
    EXPECT_EQ(reason_of(take_rows(kClient, rows(1, 1))), SessionReason::Gap);
}

TEST_F(HopTableTest, TheFirstRowsOfARouteMayCutTheCache) {
    take(kClient, open());
    take_rows(kClient, rows(0, 4));
    EXPECT_EQ(filled(2), 4U);
    EXPECT_TRUE(sent<SessionTrouble>(take_rows(kClient, rows(3, 1, 2))).empty());
    EXPECT_EQ(filled(3), 4U);
    EXPECT_EQ(compute_->gaps(), 0U);
}

TEST_F(HopTableTest, RowsOfAnOlderRouteChangeNothing) {
    take(kClient, open());
    EXPECT_EQ(filled(2), 0U);
    EXPECT_TRUE(take_rows(kClient, rows(0, 2, 1)).actions.empty());
    EXPECT_EQ(filled(3), 0U);
    EXPECT_TRUE(take(kClient, open(2)).actions.empty());
}

TEST_F(HopTableTest, AStrangersRowsChangeNothing) {
    take(kClient, open());
    EXPECT_EQ(reason_of(take_rows(kStranger, rows(0, 2))), SessionReason::Unknown);
    EXPECT_EQ(filled(2), 0U);
}

TEST_F(HopTableTest, AnUnknownSessionIsSaidToTheSender) {
    const auto troubles = sent<SessionTrouble>(take_rows(kStranger, rows(0, 1)));
    ASSERT_EQ(troubles.size(), 1U);
    EXPECT_EQ(troubles[0].first, kStranger);
    EXPECT_EQ(troubles[0].second.reason, SessionReason::Unknown);
}

TEST_F(HopTableTest, AStrangerCannotTakeOrCloseTheSession) {
    take(kClient, open());
    EXPECT_EQ(reason_of(take(kStranger, open(2))), SessionReason::Unknown);
    take(kStranger, protocol::SessionClose{kSession});
    EXPECT_EQ(table_->hops(), 1U);
    EXPECT_EQ(filled(2), 0U);
}

TEST_F(HopTableTest, OtherModelsLayersAndPlacesAreAMismatch) {
    auto model = open();
    model.model = digest_of(3);
    auto layers = open();
    layers.layers = {0, 2};
    auto place = open();
    place.hops = 1;  // the last hop, but this stage has no head
    auto long_one = open();
    long_one.positions = OracleModel{}.context + 1;
    for (const auto& wrong : {model, layers, place, long_one}) {
        EXPECT_EQ(reason_of(take(kClient, wrong)), SessionReason::Mismatch);
    }
    EXPECT_EQ(table_->hops(), 0U);
}

TEST_F(HopTableTest, ANewRouteDoesNotChangeThePathsLength) {
    take(kClient, open());
    auto longer = open(2);
    longer.hops = 4;
    EXPECT_EQ(reason_of(take(kClient, longer)), SessionReason::Unknown);
}

TEST_F(HopTableTest, WrongTokensAndTooManyRowsAreInvalid) {
    take(kClient, open());
    SessionRows unknown = rows(0, 2);
    unknown.tokens[1] = OracleModel{}.vocabulary;
    EXPECT_EQ(reason_of(take_rows(kClient, unknown)), SessionReason::Invalid);
    take(kClient, open(2));
    EXPECT_EQ(reason_of(take_rows(kClient, rows(0, 21, 2))), SessionReason::Invalid);
    take(kClient, open(3));
    SessionRows none = rows(0, 2, 3);
    none.tokens.clear();
    EXPECT_EQ(reason_of(take_rows(kClient, none)), SessionReason::Invalid);
}

TEST_F(HopTableTest, ABudgetThatIsSpentIsFullAndNothingStays) {
    for (std::uint64_t session = 0; session < 5; ++session) {
        take(kClient, open(1, session));
    }
    const auto out = take(kClient, open(1, 5));
    EXPECT_EQ(reason_of(out), SessionReason::Full);
    EXPECT_GT(sent<SessionTrouble>(out)[0].second.wait_ms, 0U);
    EXPECT_EQ(table_->hops(), 5U);
    EXPECT_EQ(compute_->reserved_positions(), 100U);
}

TEST_F(HopTableTest, ACloseFreesPagesAtOnce) {
    take(kClient, open());
    EXPECT_EQ(compute_->reserved_positions(), 20U);
    take(kClient, protocol::SessionClose{kSession});
    EXPECT_EQ(compute_->reserved_positions(), 0U);
    EXPECT_EQ(table_->next_deadline(), swarm::kNever);
}

TEST_F(HopTableTest, ForgetsWhomNobodySpeaksToAfterItsTtl) {
    take(kClient, open());
    now_ += 9s;
    take_rows(kClient, rows(0, 1));
    EXPECT_EQ(table_->next_deadline(), TimePoint(19s));
    node::Outbox out;
    table_->wake({TimePoint(19s), out});
    EXPECT_EQ(table_->hops(), 0U);
    EXPECT_EQ(out.actions.size(), 1U);  // the drop
}

TEST_F(HopTableTest, SaysWhenANeighbourIsLostOnceARoute) {
    take(kClient, open());
    node::Outbox out;
    links_.on(node::LinkDown{kNext, node::Lane::Bulk});
    table_->lost(kNext, {now_, out});
    table_->lost(kNext, {now_, out});
    EXPECT_EQ(reason_of(out), SessionReason::NextLost);
    EXPECT_TRUE(sent<SessionOpened>(take(kClient, open(2))).empty());
    links_.on(node::LinkUp{kNext, node::Lane::Bulk, {1}});
    node::Outbox up;
    table_->linked(kNext, {now_, up});
    EXPECT_EQ(sent<SessionOpened>(up).size(), 1U);
}

TEST_F(HopTableTest, PassesOnWhatTheNextHopRefuses) {
    take(kClient, open());
    const SessionTrouble refused{{kSession, 1, 1}, SessionReason::Unknown, 0};
    const auto passed = sent<SessionTrouble>(take(kNext, refused));
    ASSERT_EQ(passed.size(), 1U);
    EXPECT_EQ(passed[0].first, kClient);
    EXPECT_TRUE(take(kStranger, refused).actions.empty());
}

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

    static node::Payload payload(std::vector<float> values, std::uint32_t rows = 1) {
        std::vector<std::byte> bytes(values.size() * sizeof(float));
        std::memcpy(bytes.data(), values.data(), bytes.size());
        return {{protocol::Dtype::Float32, protocol::CodecId::None, {rows, 4}}, std::move(bytes)};
    }
};

TEST_F(LastHopTest, IsNoFirstOneWithoutTheEmbedding) {
    auto alone = open();
    alone.hops = 1;
    EXPECT_EQ(reason_of(take(kClient, alone)), SessionReason::Mismatch);
}

TEST_F(LastHopTest, SamplesOnlyWhatIsWanted) {
    take(kClient, last());
    EXPECT_TRUE(sent<SessionToken>(take(kNext, onward(0, false), payload({1, 2, 3, 4}))).empty());
    const auto tokens = sent<SessionToken>(take(kNext, onward(1, true), payload({1, 2, 3, 5})));
    ASSERT_EQ(tokens.size(), 1U);
    EXPECT_EQ(tokens[0].first, kClient);
    EXPECT_EQ(tokens[0].second.position, 2U);
    EXPECT_EQ(tokens[0].second.top.size(), 1U);
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
    std::vector<double> log_probability;  // of each token of the text, after the rows before it
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
    const auto early = send_on(1, true);  // judged and wanted: one row, one answer
    ASSERT_EQ(early.size(), 1U);
    const double both = log_probability[0] + log_probability[1];
    EXPECT_EQ(early[0].second.text_log_probability, both);
    const auto later = send_on(2, true);
    ASSERT_EQ(later.size(), 1U);
    EXPECT_EQ(later[0].second.text_log_probability, both);

    asked.id.route = 3;  // makes the second call again: its token counts once
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
