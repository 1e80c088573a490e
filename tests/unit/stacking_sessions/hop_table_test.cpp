// A server's hops against peers that lie, repeat messages, or come too late: a cache takes only
// rows that continue it.
#include "tests/unit/stacking_sessions/hop_bench.hpp"

namespace stacking::sessions {
namespace {

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

TEST_F(HopTableTest, TellsTheClientNowAndThenHowFarALongTextIsRead) {
    take(kClient, open());
    const auto told = [&](std::uint32_t position, std::uint32_t count) {
        const auto opened = sent<SessionOpened>(take_rows(kClient, rows(position, count)));
        return opened.empty() ? 0 : opened.back().second.filled_upto;
    };
    EXPECT_EQ(told(0, 3), 0U) << "SessionOpened has just been sent";
    now_ += 499ms;
    EXPECT_EQ(told(3, 3), 0U);
    now_ += 1ms;
    EXPECT_EQ(told(6, 3), 9U);
    EXPECT_EQ(told(9, 3), 0U);
    now_ += 10s;
    EXPECT_EQ(told(12, 1), 0U) << "a single row is the next token of a text";
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

TEST_F(HopTableTest, TheSenderHearsOfAnUnknownSession) {
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

TEST_F(HopTableTest, ForgetsAHopAfterATtlWithoutMessages) {
    take(kClient, open());
    now_ += 9s;
    take_rows(kClient, rows(0, 1));
    EXPECT_EQ(table_->next_deadline(), TimePoint(19s));
    node::Outbox out;
    table_->wake({TimePoint(19s), out});
    EXPECT_EQ(table_->hops(), 0U);
    EXPECT_EQ(out.actions.size(), 1U);  // drop of the cache
}

TEST_F(HopTableTest, ReportsALostNeighbourOncePerRoute) {
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

protocol::CodecId codec_of(const node::Outbox& out) {
    const auto opened = sent<SessionOpened>(out);
    EXPECT_EQ(opened.size(), 1U);
    return opened.empty() ? protocol::CodecId::Fp16 : opened[0].second.codec;
}

TEST_F(HopTableTest, ChoosesACodecWhereNoneIsNamedAndKeepsIt) {
    auto unnamed = open();
    unnamed.codec.reset();
    EXPECT_EQ(codec_of(take(kClient, unnamed)), protocol::CodecId::Int8) << "a line like any";
    ++unnamed.id.route;
    EXPECT_EQ(codec_of(take(kClient, unnamed)), protocol::CodecId::Int8);
    ++unnamed.id.route;
    unnamed.codec = protocol::CodecId::Int8;
    EXPECT_EQ(codec_of(take(kClient, unnamed)), protocol::CodecId::Int8);
    auto onward = open(1, kSession + 1);
    onward.next.peer = kSelf;
    onward.codec.reset();
    EXPECT_EQ(codec_of(take(kClient, onward)), protocol::CodecId::None) << "no line at all";
}

TEST_F(HopTableTest, RowsAtTheFirstHopAreNotAnswered) {
    take(kClient, open());
    EXPECT_TRUE(sent<protocol::SessionTaken>(take_rows(kClient, rows(0, 3))).empty());
}

/// The hop chose a codec on a route that failed; on a later route another peer's choice became
/// final.
TEST_F(HopTableTest, StartsOverWhenALaterRouteNamesAnotherCodec) {
    auto message = open();
    message.codec.reset();
    take(kClient, message);
    take_rows(kClient, rows(0, 3));
    ++message.id.route;
    message.codec = protocol::CodecId::None;
    const auto opened = sent<SessionOpened>(take(kClient, message));
    ASSERT_EQ(opened.size(), 1U);
    EXPECT_EQ(opened[0].second.codec, protocol::CodecId::None);
    EXPECT_EQ(opened[0].second.filled_upto, 0U);
    EXPECT_EQ(compute_->reserved_positions(), 20U);
    message.codec = protocol::CodecId::Bf16;
    EXPECT_EQ(reason_of(take(kClient, message)), SessionReason::Unknown)
        << "of a route that is over";
    EXPECT_EQ(reason_of(take(kStranger, message)), SessionReason::Unknown);
}

TEST_F(HopTableTest, PassesTheNextHopsRefusalOnToTheClient) {
    take(kClient, open());
    const SessionTrouble refused{{kSession, 1, 1}, SessionReason::Unknown, 0};
    const auto passed = sent<SessionTrouble>(take(kNext, refused));
    ASSERT_EQ(passed.size(), 1U);
    EXPECT_EQ(passed[0].first, kClient);
    EXPECT_TRUE(take(kStranger, refused).actions.empty());
}

}  // namespace
}  // namespace stacking::sessions
