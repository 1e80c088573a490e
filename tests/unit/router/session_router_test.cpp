#include "router/session_router.hpp"

#include "router/max_flow.hpp"
#include "tests/start.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace router {
namespace {

using namespace std::chrono_literals;
using swarm::test::kStart;

constexpr PeerId kOne{{1}};
constexpr PeerId kTwo{{2}};
constexpr PeerId kThree{{3}};
const std::vector<PeerId> kBoth{kOne, kTwo};

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

TEST_F(SessionRouterTest, PicksNothingWithoutPeers) {
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

TEST_F(SessionRouterTest, SkipsAFullPeerUntilItsTime) {
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

TEST_F(SessionRouterTest, LeavesOutExceptedPeers) {
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

// ---- the claims of peers ----

const std::vector<PeerId> kFour{kOne, kTwo, kThree, {{4}}};

/// By peer number; the same for prefill and decode unless said.
std::vector<swarm::protocol::HostInfo> hosts(
    const std::vector<double>& decode, std::vector<double> prefill = {}
) {
    prefill = prefill.empty() ? decode : prefill;
    std::vector<swarm::protocol::HostInfo> hosts;
    for (std::size_t i = 0; i < decode.size(); ++i) {
        hosts.push_back({{{i + 1}}, {0, 2}, "", {prefill[i], decode[i]}});
    }
    return hosts;
}

/// Shares of the first picks of many clients, each of which has seen the rates that `see` tells it.
template <class See>
std::vector<double> shares(
    const std::vector<swarm::protocol::HostInfo>& hosts, const SessionWork& work, See see
) {
    constexpr std::uint64_t kClients = 4000;
    std::vector<double> shares(hosts.size());
    for (std::uint64_t seed = 0; seed < kClients; ++seed) {
        SessionRouter router(seed);
        router.claim(hosts);
        see(router);
        const auto peer = router.pick(std::span(kFour).first(hosts.size()), work, kStart);
        shares.at(peer->words[0] - 1) += 1.0 / kClients;
    }
    return shares;
}

std::vector<double> shares(
    const std::vector<swarm::protocol::HostInfo>& hosts, const SessionWork& work = {10, 100}
) {
    return shares(hosts, work, [](SessionRouter&) {});
}

TEST(SessionRouterClaims, ClientsOfOneSessionShareTheMaximumFlow) {
    const std::vector<double> rates{50, 50, 100, 200};
    LayerGraph graph{.layers = 4, .hosts = {}, .links = {}};
    for (std::size_t i = 0; i < 8; ++i) {
        const bool upper = i >= 4;
        graph.hosts.push_back({upper ? 2U : 0U, upper ? 4U : 2U, (upper ? 2 : 1) * rates[i % 4]});
        graph.links.push_back(upper ? HopLink{i, kClientHost} : HopLink{kClientHost, i});
        for (std::size_t next = 4; !upper && next < 8; ++next) {
            graph.links.push_back({i, next});
        }
    }
    const auto flow = max_flow(graph);
    ASSERT_TRUE(flow);
    const std::vector<double> lower = shares(hosts(rates));
    const std::vector<double> upper = shares(hosts({100, 100, 200, 400}));
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_NEAR(flow->tokens_per_s * lower[i], rates[i], 0.03 * flow->tokens_per_s) << i;
        EXPECT_NEAR(upper[i], lower[i], 0.03) << i;
    }
}

TEST(SessionRouterClaims, PriceThePrefillApart) {
    const auto both = hosts({100, 10}, {10, 100});
    EXPECT_NEAR(shares(both, {0, 100})[0], 0.8, 0.03);  // ten to one, counted as four to one
    EXPECT_NEAR(shares(both, {100, 0})[0], 0.2, 0.03);
    EXPECT_NEAR(shares(both, {100, 100})[0], 0.5, 0.03);
}

TEST(SessionRouterClaims, ALiarGetsABoundedShare) {
    constexpr double kBound = SessionRouter::kClaimMax / (SessionRouter::kClaimMax + 3);
    for (const double lie : {401.0, 1e9, 1e30}) {
        EXPECT_NEAR(shares(hosts({lie, 100, 100, 100}))[0], kBound, 0.03) << lie;
    }
    // A peer that states no rate counts with the median of the others' claims.
    for (const double lie : {0.0, -5.0, std::nan(""), HUGE_VAL, -HUGE_VAL}) {
        EXPECT_NEAR(shares(hosts({lie, 100, 100, 100}))[0], 0.25, 0.03) << lie;
    }
    EXPECT_LT(shares(hosts({5e-324, 100, 100, 100}))[0], 0.01);
}

TEST(SessionRouterClaims, APeerThatWasSeenToBeSlowCountsLess) {
    const auto see = [](SessionRouter& router) {
        router.decoded(kOne, kStart, kStart + 100ms);
        router.decoded(kTwo, kStart, kStart + 10ms);
        router.decoded(kThree, kStart, kStart + 10ms);
        router.decoded({{4}}, kStart, kStart + 10ms);
    };
    const auto liar = hosts({1e9, 100, 100, 100});
    EXPECT_GT(shares(liar)[0], 0.5);
    EXPECT_LT(shares(liar, {0, 100}, see)[0], 0.2);
}

TEST(SessionRouterClaims, SessionsOfOneClientFillPeersInProportion) {
    SessionRouter router(3);
    router.claim(hosts({50, 50, 100, 200}));
    const SessionWork work{10, 100};
    std::array<int, 4> sessions{};
    for (int i = 0; i < 80; ++i) {
        const auto peer = router.pick(kFour, work, kStart);
        ASSERT_TRUE(peer);
        router.placed(*peer, work);
        ++sessions.at(peer->words[0] - 1);
    }
    const std::array<int, 4> ideal{10, 10, 20, 40};
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_NEAR(sessions.at(i), ideal.at(i), 3) << i;
    }
}

TEST(SessionRouterClaims, TheLastClaimCountsAndPicksRepeatWithTheSeed) {
    SessionRouter once(9);
    SessionRouter never(9);
    once.claim(hosts({1, 100}));
    const SessionWork work{1, 1};
    EXPECT_EQ(once.pick(kBoth, work, kStart), once.pick(kBoth, work, kStart));
    once.claim({});
    EXPECT_EQ(once.pick(kBoth, work, kStart), never.pick(kBoth, work, kStart));
}

TEST(SessionRouterClaims, NoPeerThatRestsOrIsFullIsDrawn) {
    SessionRouter router(5);
    router.claim(hosts({1e9, 1}));
    router.full(kOne, kStart + 3s);
    EXPECT_EQ(router.pick(kBoth, {1, 1}, kStart), kTwo);
    router.rest(kTwo, kStart);
    EXPECT_FALSE(router.pick(kBoth, {1, 1}, kStart));
}

}  // namespace
}  // namespace router
