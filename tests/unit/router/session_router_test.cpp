#include "router/session_router.hpp"

#include <gtest/gtest.h>

namespace router {
namespace {

using namespace std::chrono_literals;

constexpr PeerId kOne{{1}};
constexpr PeerId kTwo{{2}};
constexpr PeerId kThree{{3}};
const std::vector<PeerId> kBoth{kOne, kTwo};
constexpr TimePoint kStart{};

class SessionRouterTest : public testing::Test {
 protected:
    /// `one` decodes at 100 tokens a second, `two` at ten; prefill the other way round.
    void measure() {
        router_.decoded(kOne, kStart, kStart + 10ms);
        router_.decoded(kTwo, kStart, kStart + 100ms);
        router_.prefilled(kOne, 10, kStart, kStart + 1s);
        router_.prefilled(kTwo, 10, kStart, kStart + 10ms);
    }

    SessionRouter router_{7};
};

TEST_F(SessionRouterTest, PicksNobodyWhereNobodyIs) {
    EXPECT_FALSE(router_.pick({}, {}, kStart));
    EXPECT_EQ(router_.usable_at({}), swarm::kNever);
    EXPECT_FALSE(router_.all_full({}, kStart));
}

TEST_F(SessionRouterTest, PricesPrefillAndDecodeApart) {
    measure();
    EXPECT_EQ(router_.pick(kBoth, {.prefill_rows = 1, .decode_rows = 1000}, kStart), kOne);
    EXPECT_EQ(router_.pick(kBoth, {.prefill_rows = 1000, .decode_rows = 1}, kStart), kTwo);
}

TEST_F(SessionRouterTest, GoesWhereLessOfOursWaits) {
    const SessionWork work{.prefill_rows = 10, .decode_rows = 10};
    const auto first = router_.pick(kBoth, work, kStart);
    ASSERT_TRUE(first);
    router_.placed(*first, work);
    const auto second = router_.pick(kBoth, work, kStart);
    EXPECT_NE(second, first);
    router_.left(*first, work);
    EXPECT_EQ(router_.pick(kBoth, work, kStart), first);
}

TEST_F(SessionRouterTest, AnUnknownPeerCountsWithTheMean) {
    measure();
    const std::vector<PeerId> peers{kTwo, kThree};
    EXPECT_EQ(router_.pick(peers, {.prefill_rows = 0, .decode_rows = 100}, kStart), kThree);
}

TEST_F(SessionRouterTest, SkipsWhoIsFullUntilThen) {
    router_.full(kOne, kStart + 3s);
    EXPECT_EQ(router_.pick(kBoth, {}, kStart), kTwo);
    EXPECT_FALSE(router_.all_full(kBoth, kStart));
    router_.full(kTwo, kStart + 2s);
    EXPECT_FALSE(router_.pick(kBoth, {}, kStart));
    EXPECT_TRUE(router_.all_full(kBoth, kStart));
    EXPECT_EQ(router_.usable_at(kBoth), kStart + 2s);
    EXPECT_EQ(router_.pick(kBoth, {}, kStart + 2s), kTwo);
}

TEST_F(SessionRouterTest, RestsDoubleUntilASuccess) {
    const std::vector<PeerId> alone{kOne};
    router_.rest(kOne, kStart);
    EXPECT_EQ(router_.usable_at(alone), kStart + 100ms);
    router_.rest(kOne, kStart);
    EXPECT_EQ(router_.usable_at(alone), kStart + 200ms);
    for (int i = 0; i < 20; ++i) {
        router_.rest(kOne, kStart);
    }
    EXPECT_EQ(router_.usable_at(alone), kStart + SessionRouter::kRestMax);
    router_.succeeded(kOne);
    router_.rest(kOne, kStart);
    EXPECT_EQ(router_.usable_at(alone), kStart + 100ms);
}

TEST_F(SessionRouterTest, LeavesOutWhoIsExcepted) {
    const std::vector<PeerId> except{kOne};
    EXPECT_EQ(router_.pick(kBoth, {}, kStart, except), kTwo);
    EXPECT_FALSE(router_.pick(except, {}, kStart, except));
}

TEST_F(SessionRouterTest, AmongEqualsEachClientHasAnOrderOfItsOwn) {
    std::size_t one = 0;
    for (std::uint64_t seed = 0; seed < 64; ++seed) {
        one += SessionRouter(seed).pick(kBoth, {}, kStart) == kOne ? 1U : 0U;
    }
    EXPECT_GT(one, 16U);
    EXPECT_LT(one, 48U);
}

}  // namespace
}  // namespace router
