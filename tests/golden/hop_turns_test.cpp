#include "tests/golden/hop_turns.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace sim::golden {
namespace {

bool anybody(std::size_t /*host*/) {
    return true;
}

bool not_the_second(std::size_t host) {
    return host != 1;
}

router::LayerFlow fan(const std::vector<double>& flows) {
    router::LayerFlow flow;
    for (std::size_t i = 0; i < flows.size(); ++i) {
        flow.hops.push_back({router::kClientHost, i, flows[i]});
        flow.hops.push_back({i, router::kClientHost, flows[i]});
        flow.tokens_per_s += flows[i];
    }
    return flow;
}

TEST(HopTurns, SharesAreThoseOfTheFlowAtAnyMoment) {
    const std::vector<double> flows{1, 1, 1, 5, 40, 100.5};
    const router::LayerFlow flow = fan(flows);
    HopTurns turns(flow);
    std::vector<double> picks(flows.size());
    const double slack = (1 + static_cast<double>(flows.size())) / 2;
    for (int n = 1; n <= 5000; ++n) {
        const auto to = turns.pick(router::kClientHost, anybody);
        ASSERT_TRUE(to);
        picks.at(*to) += 1;
        for (std::size_t i = 0; i < flows.size(); ++i) {
            ASSERT_LE(std::abs(picks[i] - n * flows[i] / flow.tokens_per_s), slack) << n;
        }
    }
}

TEST(HopTurns, AHostThatWasFullDoesNotCatchUp) {
    HopTurns turns(fan({1, 1}));
    for (int n = 0; n < 100; ++n) {
        EXPECT_EQ(turns.pick(router::kClientHost, not_the_second), 0U);
    }
    int second = 0;
    for (int n = 0; n < 10; ++n) {
        second += turns.pick(router::kClientHost, anybody) == 1U ? 1 : 0;
    }
    EXPECT_GE(second, 5);
    EXPECT_LE(second, 6);
}

TEST(HopTurns, EndsAtTheClientAndNowhereElse) {
    HopTurns turns(fan({3}));
    EXPECT_EQ(turns.pick(router::kClientHost, anybody), 0U);
    EXPECT_EQ(turns.pick(0, anybody), router::kClientHost);
    EXPECT_EQ(turns.pick(0, [](std::size_t) { return false; }), router::kClientHost);
    EXPECT_FALSE(turns.pick(7, anybody));
    EXPECT_FALSE(turns.pick(router::kClientHost, [](std::size_t) { return false; }));
}

/// Each host gets its part although two senders use it and do not know of each other.
TEST(HopTurns, PathsLoadEveryHostAsTheFlowDoes) {
    router::LayerGraph graph{
        .layers = 4, .hosts = {{0, 2, 60}, {0, 1, 40}, {1, 4, 50}, {2, 4, 50}}, .links = {}};
    graph.links = {
        {router::kClientHost, 0},
        {router::kClientHost, 1},
        {0, 2},
        {0, 3},
        {1, 2},
        {2, router::kClientHost},
        {3, router::kClientHost}};
    const auto flow = router::max_flow(graph);
    ASSERT_TRUE(flow);
    ASSERT_EQ(flow->tokens_per_s, 100);
    HopTurns turns(*flow);
    std::vector<double> sessions(graph.hosts.size());
    double seconds = 0;  // time until the last host has done a token of each session
    for (int n = 0; n < 1000; ++n) {
        auto at = turns.pick(router::kClientHost, anybody);
        while (at && *at != router::kClientHost) {
            sessions.at(*at) += 1;
            at = turns.pick(*at, anybody);
        }
        ASSERT_TRUE(at);
    }
    for (std::size_t i = 0; i < sessions.size(); ++i) {
        seconds = std::max(seconds, sessions[i] / graph.hosts[i].tokens_per_s);
    }
    EXPECT_GT(1000 / seconds, 0.99 * flow->tokens_per_s);
}

}  // namespace
}  // namespace sim::golden
