#include "router/max_flow.hpp"

#include "swarm/base/rng.hpp"
#include "swarm/protocol/limits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace router {
namespace {

/// Every link that leads on, as fast as you like.
void link_all(LayerGraph& graph) {
    std::vector<std::size_t> ends{kClientHost};
    for (std::size_t i = 0; i < graph.hosts.size(); ++i) {
        ends.push_back(i);
    }
    for (const std::size_t from : ends) {
        for (const std::size_t to : ends) {
            if (leads_on(graph, from, to)) {
                graph.links.push_back({from, to});
            }
        }
    }
}

/// Capacities are whole tokens a second; one host more takes all layers, so that some path exists.
LayerGraph drawn_graph(std::uint64_t seed) {
    swarm::Rng rng(seed, 1);
    LayerGraph graph{
        .layers = 2 + static_cast<std::uint32_t>(rng.below(4)), .hosts = {}, .links = {}};
    graph.hosts.push_back({0, graph.layers, static_cast<double>(rng.below(3))});
    for (std::uint64_t more = 3 + rng.below(3); more > 0; --more) {
        const auto first = static_cast<std::uint32_t>(rng.below(graph.layers));
        const auto end = first + 1 + static_cast<std::uint32_t>(rng.below(graph.layers - first));
        graph.hosts.push_back({first, end, static_cast<double>(rng.below(20))});
    }
    link_all(graph);
    for (HopLink& link : graph.links) {
        if (rng.chance(1, 2)) {
            link.tokens_per_s = static_cast<double>(rng.below(10));
        }
    }
    return graph;
}

/// The least that must be cut to part the client's two sides: every partition is tried. Bit 2i of
/// a side is the entry of host i, bit 2i + 1 its exit.
double least_cut(const LayerGraph& graph) {
    double least = std::numeric_limits<double>::infinity();
    for (std::uint64_t side = 0; side < std::uint64_t{1} << (2 * graph.hosts.size()); ++side) {
        double cut = 0;
        for (std::size_t i = 0; i < graph.hosts.size(); ++i) {
            const bool parted = (side >> (2 * i) & 1) == 1 && (side >> (2 * i + 1) & 1) == 0;
            cut += parted ? graph.hosts[i].tokens_per_s : 0;
        }
        for (const HopLink& link : graph.links) {
            const bool near = link.from == kClientHost || (side >> (2 * link.from + 1) & 1) == 1;
            const bool far = link.to == kClientHost || (side >> (2 * link.to) & 1) == 0;
            cut += near && far ? link.tokens_per_s : 0;
        }
        least = std::min(least, cut);
    }
    return least;
}

/// The flow into the host, or out of it.
double sum(const LayerFlow& flow, std::size_t HopLink::*end, std::size_t host) {
    double total = 0;
    for (const HopLink& hop : flow.hops) {
        total += hop.*end == host ? hop.tokens_per_s : 0;
    }
    return total;
}

TEST(MaxFlow, EqualsTheLeastCutOfDrawnGraphs) {
    int positive = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const LayerGraph graph = drawn_graph(seed);
        const auto flow = max_flow(graph);
        ASSERT_TRUE(flow) << seed;
        ASSERT_EQ(flow->tokens_per_s, least_cut(graph)) << seed;
        positive += flow->tokens_per_s > 0 ? 1 : 0;
    }
    EXPECT_GT(positive, 100);
}

TEST(MaxFlow, KeepsWithinCapacitiesAndLosesNothing) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const LayerGraph graph = drawn_graph(seed);
        const auto flow = max_flow(graph);
        ASSERT_TRUE(flow) << seed;
        for (const HopLink& hop : flow->hops) {
            const auto link =
                std::find_if(graph.links.begin(), graph.links.end(), [&](const HopLink& one) {
                    return one.from == hop.from && one.to == hop.to;
                });
            ASSERT_NE(link, graph.links.end()) << seed;
            EXPECT_LE(hop.tokens_per_s, link->tokens_per_s) << seed;
        }
        for (std::size_t i = 0; i < graph.hosts.size(); ++i) {
            EXPECT_EQ(sum(*flow, &HopLink::to, i), sum(*flow, &HopLink::from, i)) << seed;
            EXPECT_LE(sum(*flow, &HopLink::to, i), graph.hosts[i].tokens_per_s) << seed;
        }
        EXPECT_EQ(sum(*flow, &HopLink::from, kClientHost), flow->tokens_per_s) << seed;
        EXPECT_EQ(sum(*flow, &HopLink::to, kClientHost), flow->tokens_per_s) << seed;
    }
}

TEST(MaxFlow, EqualsTheCapacityOfTheWeakestStage) {
    LayerGraph graph{.layers = 4, .hosts = {{0, 2, 10}, {0, 2, 30}, {2, 4, 25}}, .links = {}};
    link_all(graph);
    const auto flow = max_flow(graph);
    ASSERT_TRUE(flow);
    EXPECT_EQ(flow->tokens_per_s, 25);
}

TEST(MaxFlow, EntersAPeerInTheMidstOfItsRange) {
    LayerGraph graph{.layers = 6, .hosts = {{0, 4, 10}, {2, 6, 8}}, .links = {}};
    link_all(graph);
    const auto flow = max_flow(graph);
    ASSERT_TRUE(flow);
    EXPECT_EQ(flow->tokens_per_s, 8);
}

TEST(MaxFlow, ASlowLinkSendsTheRestElsewhere) {
    const LayerGraph graph{
        .layers = 2,
        .hosts = {{0, 1, 10}, {1, 2, 10}, {1, 2, 10}},
        .links = {{kClientHost, 0}, {0, 1, 2.5}, {0, 2}, {1, kClientHost}, {2, kClientHost}}};
    const auto flow = max_flow(graph);
    ASSERT_TRUE(flow);
    EXPECT_EQ(flow->tokens_per_s, 10);
    EXPECT_LE(sum(*flow, &HopLink::to, 1), 2.5);
}

TEST(MaxFlow, IsNothingWhereALayerIsMissing) {
    LayerGraph graph{.layers = 3, .hosts = {{0, 1, 10}, {2, 3, 10}}, .links = {}};
    link_all(graph);
    const auto flow = max_flow(graph);
    ASSERT_TRUE(flow);
    EXPECT_EQ(flow->tokens_per_s, 0);
    EXPECT_TRUE(flow->hops.empty());
    ASSERT_TRUE(max_flow({}));
}

TEST(MaxFlow, TwiceTheSameGraphGivesTheSameFlow) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const auto once = max_flow(drawn_graph(seed));
        const auto again = max_flow(drawn_graph(seed));
        ASSERT_TRUE(once && again);
        EXPECT_EQ(once->hops, again->hops);
    }
}

TEST(MaxFlow, RefusesAGraphThatIsNoLayerGraph) {
    const LayerGraph good{
        .layers = 2, .hosts = {{0, 1, 1}, {1, 2, 1}}, .links = {{kClientHost, 0}, {0, 1}}};
    ASSERT_TRUE(max_flow(good));
    const auto refused = [](const LayerGraph& graph) { return max_flow(graph).has_error(); };
    LayerGraph bad = good;
    bad.hosts[1].end = 3;
    EXPECT_TRUE(refused(bad));
    bad = good;
    bad.hosts[0].end = 0;
    EXPECT_TRUE(refused(bad));
    bad = good;
    bad.hosts[0].tokens_per_s = std::nan("");
    EXPECT_TRUE(refused(bad));
    bad = good;
    bad.links[1].tokens_per_s = -1;
    EXPECT_TRUE(refused(bad));
    for (const HopLink& wrong :
         std::vector<HopLink>{{1, 0}, {0, 0}, {0, kClientHost}, {kClientHost, 1}, {0, 7}, {}}) {
        bad = good;
        bad.links.push_back(wrong);
        EXPECT_TRUE(refused(bad)) << wrong.from << " to " << wrong.to;
    }
}

TEST(MaxFlow, RefusesMoreThanItsBounds) {
    LayerGraph many{.layers = 1, .hosts = {}, .links = {}};
    many.hosts.assign(swarm::protocol::kHostsMax + 1, {0, 1, 1});
    const auto flow = max_flow(many);
    ASSERT_TRUE(flow.has_error());
    EXPECT_EQ(flow.error().code, swarm::ErrorCode::TooLarge);
}

}  // namespace
}  // namespace router
