// Pages that a server keeps of ended sessions, and the memory that their client has of them.
#include "stacking/sessions/kept/kept_texts.hpp"
#include "tests/unit/stacking_sessions/hop_bench.hpp"

#include <numeric>

namespace stacking::sessions {
namespace {

using Names = std::vector<std::uint64_t>;

KeptCaches::Kept kept(std::uint64_t cache, Names names, PeerId client = kClient) {
    KeptCaches::Kept kept{
        .place = {client, 1, false, protocol::CodecId::None},
        .names = std::move(names),
        .cache = {cache},
        .log = RowLog({})};
    return kept;
}

TEST(KeptCachesTest, FindsTheOneWithMostPagesInCommon) {
    KeptCaches caches;
    EXPECT_TRUE(caches.add(kept(1, {10, 20, 30})).empty());
    EXPECT_TRUE(caches.add(kept(2, {10, 21})).empty());
    const auto place = kept(0, {}).place;
    const auto found = caches.find(place, Names{10, 20, 31, 40});
    ASSERT_TRUE(found);
    EXPECT_EQ(found->kept->cache, CacheId{1});
    EXPECT_EQ(found->pages, 2U);
    EXPECT_FALSE(caches.find(place, Names{20, 30})) << "a text is known by its beginning";
    EXPECT_FALSE(caches.find(place, Names{}));
}

TEST(KeptCachesTest, AnotherPlaceFindsNothing) {
    KeptCaches caches;
    EXPECT_TRUE(caches.add(kept(1, {10})).empty());
    const auto found = [&](auto change) {
        KeptCaches::Place place = kept(0, {}).place;
        change(place);
        return caches.find(place, Names{10}).has_value();
    };
    EXPECT_TRUE(found([](KeptCaches::Place&) {}));
    EXPECT_FALSE(found([](KeptCaches::Place& place) { place.client = kStranger; }));
    EXPECT_FALSE(found([](KeptCaches::Place& place) { place.hop = 2; }));
    EXPECT_FALSE(found([](KeptCaches::Place& place) { place.is_last = true; }));
    EXPECT_FALSE(found([](KeptCaches::Place& place) { place.codec = protocol::CodecId::Int8; }));
}

TEST(KeptCachesTest, ALongerTextReplacesItsBeginning) {
    KeptCaches caches;
    EXPECT_TRUE(caches.add(kept(1, {10})).empty());
    EXPECT_TRUE(caches.add(kept(2, {10, 20}, kStranger)).empty());
    const auto dropped = caches.add(kept(3, {10, 20}));
    ASSERT_EQ(dropped.size(), 1U);
    EXPECT_EQ(dropped[0].cache, CacheId{1});
    EXPECT_EQ(caches.size(), 2U);
}

TEST(KeptCachesTest, AreBounded) {
    KeptCaches caches;
    std::size_t dropped = 0;
    for (std::uint64_t i = 0; i < KeptCaches::kKeptMax + 5; ++i) {
        dropped += caches.add(kept(i, {i})).size();
    }
    EXPECT_EQ(dropped, 5U);
    EXPECT_EQ(caches.size(), KeptCaches::kKeptMax);
    EXPECT_EQ(caches.take_superfluous(CacheId{5})->cache, CacheId{6});
    EXPECT_EQ(caches.take_superfluous({})->cache, CacheId{5});
}

TEST(KeptCachesTest, AFloodOfTextsOfOneClientCostsOthersNothing) {
    KeptCaches caches;
    EXPECT_TRUE(caches.add(kept(1'000, {1, 2, 3})).empty());
    for (std::uint64_t i = 0; i < 2 * KeptCaches::kKeptMax; ++i) {
        static_cast<void>(caches.add(kept(i, {i}, kStranger)));
    }
    EXPECT_TRUE(caches.has({1'000}));
    for (std::size_t left = caches.size(); left > 4; --left) {
        EXPECT_NE(caches.take_superfluous({})->cache, CacheId{1'000});
    }
    EXPECT_EQ(caches.take_superfluous({})->cache, CacheId{1'000})
        << "three pages each, it is older";
}

std::vector<TokenId> text(std::uint32_t tokens, TokenId first = 0) {
    std::vector<TokenId> all(tokens);
    std::iota(all.begin(), all.end(), first);
    return all;
}

TEST(PageNamesTest, AreThoseOfTheTextAndItsScope) {
    PageNames names(1, 7);
    EXPECT_EQ(names.names(text(63)).size(), 0U);
    EXPECT_EQ(names.names(text(64)).size(), 1U);
    const Names longer = names.names(text(200));
    EXPECT_EQ(longer.size(), 3U);
    EXPECT_EQ(PageNames(1, 7).names(text(200)), longer) << "however the text grew";
    EXPECT_NE(PageNames(1, 8).names(text(200)), longer);
    EXPECT_NE(PageNames(2, 7).names(text(200)), longer);
    auto other = text(200);
    other[70] = 0;
    const Names changed = PageNames(1, 7).names(other);
    EXPECT_EQ(changed[0], longer[0]);
    EXPECT_NE(changed[1], longer[1]);
    EXPECT_NE(changed[2], longer[2]) << "a name stands for all that comes before";
    EXPECT_EQ(PageNames(1, 7).names(text(64 * 600)).size(), protocol::kPrefixPagesMax);
}

TEST(PageNamesTest, DependOnThePath) {
    const Names names{1, 2};
    KeptText::Hop hop{digest_of(1), digest_of(2), {0, 3}, kNext, protocol::CodecId::None};
    const Names on = names_on_path(names, std::vector{hop, hop});
    hop.peer = kSelf;
    EXPECT_EQ(names_on_path(names, std::vector{hop, hop}), on) << "who computes does not matter";
    EXPECT_NE(names_on_path(names, std::vector{hop}), on);
    hop.codec = protocol::CodecId::Int8;
    EXPECT_NE(names_on_path(names, std::vector{hop, hop}), on);
    hop.codec = protocol::CodecId::None;
    hop.weights = digest_of(3);
    EXPECT_NE(names_on_path(names, std::vector{hop, hop}), on);
    hop.weights = digest_of(2);
    hop.layers.end = 4;
    EXPECT_NE(names_on_path(names, std::vector{hop, hop}), on);
}

TEST(KeptTextsTest, AreRememberedForTheirTime) {
    KeptTexts texts;
    texts.add({.names = {1, 2}}, {});
    texts.add({.names = {1, 3, 4}}, TimePoint{1s});
    const auto found = texts.find(Names{1, 3, 9}, TimePoint{2s});
    ASSERT_TRUE(found);
    EXPECT_EQ(found->pages, 2U);
    EXPECT_EQ(texts.find(Names{1}, TimePoint{2s})->text->names.back(), 4U) << "the newest one";
    EXPECT_TRUE(texts.find(Names{1, 2}, TimePoint{KeptTexts::kTtl - 1ms}));
    EXPECT_EQ(texts.find(Names{1, 2}, TimePoint{KeptTexts::kTtl})->pages, 1U);
    EXPECT_FALSE(texts.find(Names{1}, TimePoint{KeptTexts::kTtl + 1s}));
}

TEST(KeptTextsTest, AreDoubtedWhenALinkToAPeerBreaks) {
    KeptTexts texts;
    const KeptText::Hop hop{digest_of(1), digest_of(2), {0, 3}, kNext, protocol::CodecId::None};
    texts.add({.names = {1, 2}, .hops = {hop}}, {});
    texts.add({.names = {3}}, {});
    texts.doubt(kStranger);
    EXPECT_FALSE(texts.find(Names{1}, {})->text->is_doubtful);
    texts.doubt(kNext);
    EXPECT_TRUE(texts.find(Names{1}, {})->text->is_doubtful);
    EXPECT_FALSE(texts.find(Names{3}, {})->text->is_doubtful);
    texts.add({.names = {1, 2}, .hops = {hop}}, {});
    EXPECT_FALSE(texts.find(Names{1}, {})->text->is_doubtful) << "it was read again";
}

/// A hop of a session of 200 positions.
class KeptHops : public HopTableTest {
 protected:
    KeptHops() { make(HopTable::kKeptBytesMax); }

    void make(std::uint64_t kept_bytes_max) {
        compute_ =
            std::make_shared<OracleSessionCompute>(OracleModel{.exits = false}, layers_, 800);
        HopTable::Options options;
        options.kept_bytes_max = kept_bytes_max;
        options.self = kSelf;
        options.host = {digest_of(1), 3, layers_, digest_of(2)};
        options.compute = compute_;
        table_.emplace(std::move(options), links_);
    }

    protocol::SessionOpen open_long(std::uint64_t session, Names prefix) const {
        protocol::SessionOpen asked = open(1, session);
        asked.positions = 200;
        asked.prefix = std::move(prefix);
        return asked;
    }

    std::uint32_t filled_of(const node::Outbox& out) const {
        const auto opened = sent<SessionOpened>(out);
        return opened.empty() ? 999 : opened[0].second.filled_upto;
    }

    /// Opens a session of 150 positions, and lets others begin with its pages.
    void share_one(Names names) {
        take(kClient, open_long(kSession, {}));
        take_rows(kClient, rows(0, 150));
        take(kClient, protocol::SessionShare{kSession, std::move(names)});
    }

    /// Makes a session whose last frame cuts a guess at position 127 and is on the device.
    void cut_a_guess_at_127() {
        take(kClient, open_long(kSession, {}));
        take_rows(kClient, rows(0, 126));
        SessionRows guessing = rows(126, 3);
        guessing.wanted = true;
        guessing.guessed = 2;
        take_rows(kClient, guessing);
        SessionRows next = rows(127, 1);
        next.wanted = true;
        next.tokens = {4};
        table_->take(kClient, next, node::Payload(), {now_, waiting_});
    }

    /// Leaves a session of 150 positions.
    void leave_one(Names names) {
        take(kClient, open_long(kSession, {}));
        take_rows(kClient, rows(0, 150));
        take(kClient, protocol::SessionClose{kSession, std::move(names)});
    }

    node::Outbox waiting_;  // device work that has not run
};

TEST_F(KeptHops, AreSharedWhileTheirSessionGoesOn) {
    share_one({1, 2});
    EXPECT_EQ(table_->kept(), 1U);
    EXPECT_EQ(compute_->reserved_positions(), 200U) << "the pages are there once";
    EXPECT_EQ(filled_of(take(kStranger, open_long(5, {1, 2}))), 0U);
    EXPECT_EQ(filled_of(take(kClient, open_long(6, {1, 2, 3}))), 128U);
    EXPECT_EQ(compute_->reserved_positions(), 200U + 200U + 72U);
    EXPECT_TRUE(sent<SessionTrouble>(take_rows(kClient, rows(150, 1))).empty());
    SessionRows other = rows(128, 3);
    other.id.session = 6;
    EXPECT_TRUE(sent<SessionTrouble>(take_rows(kClient, other)).empty());
    EXPECT_EQ(compute_->gaps(), 0U);
}

TEST_F(KeptHops, TheirSessionCutsThemNoMore) {
    share_one({1, 2});
    protocol::SessionOpen again = open_long(kSession, {});
    again.id.route = 2;
    take(kClient, again);
    EXPECT_EQ(reason_of(take_rows(kClient, rows(127, 1, 2))), SessionReason::Gap);
    again.id.route = 3;
    take(kClient, again);
    EXPECT_TRUE(sent<SessionTrouble>(take_rows(kClient, rows(128, 1, 3))).empty());
}

TEST_F(KeptHops, OutliveTheSessionThatLeftThem) {
    share_one({1, 2});
    take(kClient, protocol::SessionClose{kSession});
    EXPECT_EQ(table_->hops(), 0U);
    EXPECT_EQ(compute_->reserved_positions(), 128U);
    EXPECT_EQ(filled_of(take(kClient, open_long(6, {1, 2}))), 128U);
    now_ += KeptCaches::kTtl;
    node::Outbox out;
    table_->wake({now_, out});
    EXPECT_EQ(table_->kept(), 0U);
}

TEST_F(KeptHops, ALongerTextReplacesTheBeginningThatItsSessionLeft) {
    share_one({1});
    take(kClient, protocol::SessionClose{kSession, {1, 2}});
    EXPECT_EQ(table_->kept(), 1U);
    EXPECT_EQ(compute_->reserved_positions(), 128U);
    EXPECT_EQ(filled_of(take(kClient, open_long(6, {1, 2}))), 128U);
}

TEST_F(KeptHops, OnlyItsClientSharesASessionAndOneBeginningAtATime) {
    take(kClient, open_long(kSession, {}));
    take_rows(kClient, rows(0, 150));
    take(kStranger, protocol::SessionShare{kSession, {1, 2}});
    take(kClient, protocol::SessionShare{kSession + 1, {1, 2}});
    take(kClient, protocol::SessionShare{kSession, {}});
    EXPECT_EQ(table_->kept(), 0U);
    for (std::uint64_t name = 1; name < 20; ++name) {
        take(kClient, protocol::SessionShare{kSession, {name, name + 1}});
    }
    EXPECT_EQ(table_->kept(), 1U);
}

TEST_F(KeptHops, RowsThatAreBeingCutAreNotShared) {
    cut_a_guess_at_127();
    take(kClient, protocol::SessionShare{kSession, {1, 2}});
    EXPECT_EQ(filled_of(take(kClient, open_long(6, {1, 2}))), 64U);
}

TEST_F(KeptHops, RowsThatAreBeingCutAreNotKept) {
    cut_a_guess_at_127();
    take(kClient, protocol::SessionClose{kSession, {1, 2}});
    EXPECT_EQ(filled_of(take(kClient, open_long(6, {1, 2}))), 64U);
}

TEST_F(KeptHops, AreNotSharedWithoutRoomForTheirRows) {
    constexpr std::uint64_t kRowBytes = OracleModel::kNumbersOfState * sizeof(float);
    make(200 * kRowBytes + 127 * kRowBytes);
    share_one({1, 2});
    EXPECT_EQ(table_->kept(), 0U);
    take(kClient, protocol::SessionShare{kSession, {1}});
    EXPECT_EQ(table_->kept(), 1U);
    EXPECT_EQ(filled_of(take(kClient, open_long(6, {1, 2}))), 0U) << "its own rows need the room";
}

TEST_F(KeptHops, BeginTheNextSessionOfTheSameClient) {
    leave_one({1, 2});
    EXPECT_EQ(table_->hops(), 0U);
    EXPECT_EQ(compute_->reserved_positions(), 128U) << "whole pages";
    EXPECT_EQ(filled_of(take(kStranger, open_long(5, {1, 2}))), 0U);
    EXPECT_EQ(filled_of(take(kClient, open_long(6, {1, 3}))), 64U);
    EXPECT_EQ(filled_of(take(kClient, open_long(7, {1, 2, 3}))), 128U);
    SessionRows more = rows(128, 3);
    more.id.session = 7;
    EXPECT_TRUE(sent<SessionTrouble>(take_rows(kClient, more)).empty());
    EXPECT_EQ(compute_->gaps(), 0U);
}

TEST_F(KeptHops, NobodyWaitsForTheSessionThatLeftThem) {
    constexpr std::uint64_t kOther = kSession + 1;
    constexpr std::uint64_t kIdle = kSession + 2;
    constexpr auto kReturn = 1ms;  // from an answer to the next token of the first session
    const auto waits_until = [&](bool leaves) {
        make(HopTable::kKeptBytesMax);
        call_time_ = 20ms;
        for (const std::uint64_t session : {kSession, kOther, kIdle}) {
            take(kClient, open_long(session, {}));
        }
        const auto send = [&](std::uint64_t session, std::uint32_t position, std::uint32_t count) {
            SessionRows message = rows(position, count);
            message.id.session = session;
            message.wanted = count == 1;
            take_rows(kClient, message);
        };
        send(kSession, 0, 150);
        send(kOther, 0, 2);
        std::uint32_t position = 150;
        for (int i = 0; i < 3; ++i) {  // both are answered together, and return one after the other
            now_ += kReturn;
            send(kSession, position++, 1);
            send(kOther, 2 + static_cast<std::uint32_t>(i), 1);
            now_ = std::max(now_, table_->next_deadline());
            wake();
        }
        if (leaves) {
            take(kClient, protocol::SessionClose{kSession, {1, 2}});
            EXPECT_EQ(table_->kept(), 1U);
        }
        send(kOther, 5, 1);
        return table_->next_deadline() - now_;
    };
    EXPECT_GT(waits_until(false), kReturn);
    EXPECT_LE(waits_until(true), kReturn) << "only for tokens that travel together";
}

TEST_F(KeptHops, NobodyCutsSharedPages) {
    leave_one({1, 2});
    take(kClient, open_long(7, {1, 2}));
    SessionRows lower = rows(100, 1);
    lower.id.session = 7;
    EXPECT_EQ(reason_of(take_rows(kClient, lower)), SessionReason::Gap);
    take(kClient, open_long(8, {1, 2}));
    const auto out = take(kClient, protocol::SessionResume{{8, 1, 0}, 100, 0});
    EXPECT_EQ(reason_of(out), SessionReason::Gap);
}

TEST_F(KeptHops, SendTheirKeptRowsToANewNextHop) {
    leave_one({1, 2});
    take(kClient, open_long(7, {1, 2}));
    const auto out = take(kClient, protocol::SessionResume{{7, 1, 0}, 128, 10});
    const auto onward = sent<SessionRows>(out);
    ASSERT_EQ(onward.size(), 1U);
    EXPECT_EQ(onward[0].second.position, 10U);
    EXPECT_EQ(onward[0].second.rows, 118U);
}

TEST_F(KeptHops, NamesForMoreThanWasReadAreIgnored) {
    leave_one({1, 2, 3, 4, 5});
    EXPECT_EQ(compute_->reserved_positions(), 128U);
    EXPECT_EQ(filled_of(take(kClient, open_long(7, {1, 2, 3}))), 128U);
}

TEST_F(KeptHops, GiveWayToWhoNeedsTheRoom) {
    leave_one({1, 2});
    for (const std::uint64_t session : {11U, 12U, 13U}) {
        EXPECT_EQ(filled_of(take(kStranger, open_long(session, {}))), 0U);
    }
    EXPECT_EQ(table_->kept(), 1U);
    EXPECT_EQ(filled_of(take(kStranger, open_long(14, {}))), 0U);
    EXPECT_EQ(table_->kept(), 0U) << "128 and four times 200 are more than 800";
    EXPECT_EQ(table_->hops(), 4U);
}

TEST_F(KeptHops, EndAfterTheirTime) {
    leave_one({1, 2});
    now_ += KeptCaches::kTtl;
    EXPECT_LE(table_->next_deadline(), now_);
    node::Outbox out;
    table_->wake({now_, out});
    EXPECT_EQ(table_->kept(), 0U);
}

TEST_F(KeptHops, AreNoneWithoutNames) {
    leave_one({});
    EXPECT_EQ(table_->kept(), 0U);
    EXPECT_EQ(compute_->reserved_positions(), 0U);
}

// Guesses: a frame of a token and two guesses, and the frame after it.

TEST_F(HopTableTest, RowsAfterGuessesMayCutTheseAndNoMore) {
    take(kClient, open());
    SessionRows guessing = rows(0, 4);
    guessing.wanted = true;
    guessing.guessed = 2;
    EXPECT_TRUE(sent<SessionTrouble>(take_rows(kClient, guessing)).empty());
    SessionRows next = rows(3, 3);
    next.wanted = true;
    next.guessed = 2;
    EXPECT_TRUE(sent<SessionTrouble>(take_rows(kClient, next)).empty());
    EXPECT_EQ(reason_of(take_rows(kClient, rows(3, 1))), SessionReason::Gap)
        << "the row at 3 was no guess";
    EXPECT_EQ(compute_->gaps(), 0U);
}

TEST_F(HopTableTest, GuessesAreRefusedWhereNobodyDrawsThem) {
    protocol::SessionOpen early = open();
    early.exit_threshold = 0.5;
    take(kClient, early);
    SessionRows guessing = rows(0, 2);
    guessing.wanted = true;
    guessing.guessed = 1;
    EXPECT_EQ(reason_of(take_rows(kClient, guessing)), SessionReason::Invalid);
}

}  // namespace
}  // namespace stacking::sessions
