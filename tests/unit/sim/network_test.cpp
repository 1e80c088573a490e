#include "sim/network.hpp"

#include "tests/start.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <vector>

namespace sim {
namespace {

using namespace std::chrono_literals;
using swarm::test::kStart;

Network with_peers(const NetworkOptions& options, std::initializer_list<RegionIndex> regions) {
    Network network(1, options);
    for (const RegionIndex region : regions) {
        network.add_peer(region);
    }
    return network;
}

TEST(Network, FramesOfOneDirectionArriveInOrderWithinTheLatencyBounds) {
    Network network = with_peers({.latency_min = 5ms, .latency_max = 60ms}, {0, 0});
    Link& link = *network.find(network.open(0, 1, Lane::Control, 1));
    TimePoint last = kStart;
    for (int i = 0; i < 1000; ++i) {
        const TimePoint now = kStart + i * 1ms;
        const TimePoint arrives = network.arrival_time(link, Side::Listener, now);
        EXPECT_GE(arrives, last);
        EXPECT_GE(arrives - now, 5ms);
        EXPECT_LE(arrives - now, 60ms);
        last = arrives;
    }
}

TEST(Network, AnotherLinkShiftsNoOtherLinksLatencies) {
    const auto latencies = [](bool with_another) {
        Network network = with_peers({}, {0, 0, 0, 0});
        if (with_another) {
            Link& other = *network.find(network.open(2, 3, Lane::Bulk, 9));
            network.arrival_time(other, Side::Dialer, kStart);
        }
        const LinkId id = network.open(0, 1, Lane::Control, 1);
        std::vector<TimePoint> arrivals;
        for (int i = 0; i < 10; ++i) {
            arrivals.push_back(network.arrival_time(*network.find(id), Side::Dialer, kStart));
        }
        return arrivals;
    };
    EXPECT_EQ(latencies(false), latencies(true));
}

TEST(Network, LatencyIsThatOfTheRegionsInEachDirection) {
    Network network = with_peers({.latency = {{1ms, 40ms}, {50ms, 2ms}}}, {0, 1, 1});
    Link& abroad = *network.find(network.open(0, 1, Lane::Control, 1));
    EXPECT_EQ(network.arrival_time(abroad, Side::Listener, kStart), kStart + 40ms);
    EXPECT_EQ(network.arrival_time(abroad, Side::Dialer, kStart), kStart + 50ms);
    Link& at_home = *network.find(network.open(2, 1, Lane::Control, 2));
    EXPECT_EQ(network.arrival_time(at_home, Side::Listener, kStart), kStart + 2ms);
    EXPECT_EQ(network.latency_max(), 50ms);
}

TEST(Network, JitterAddsUpToItsShareOfTheLatency) {
    Network network = with_peers({.latency = {{100ms}}, .jitter = 0.25}, {0, 0});
    Link& link = *network.find(network.open(0, 1, Lane::Control, 1));
    Duration least = 1s;
    Duration most{};
    for (int i = 0; i < 1000; ++i) {
        const TimePoint now = kStart + i * 1s;
        const Duration took = network.arrival_time(link, Side::Listener, now) - now;
        least = std::min(least, took);
        most = std::max(most, took);
    }
    EXPECT_GE(least, 100ms);
    EXPECT_LT(least, 101ms);
    EXPECT_GT(most, 124ms);
    EXPECT_LE(most, 125ms);
    EXPECT_EQ(network.latency_max(), 125ms);
}

TEST(Network, ALinkIsForgottenOnceBothEndsAreClosed) {
    Network network = with_peers({}, {0, 0, 0, 0});
    const LinkId id = network.open(0, 1, Lane::Control, 1);
    network.close(id, Side::Listener);
    EXPECT_NE(network.find(id), nullptr);
    network.close(id, Side::Dialer);
    EXPECT_EQ(network.find(id), nullptr);
    EXPECT_EQ(network.open_links(), 0U);
}

TEST(Network, AnOldIdDoesNotFindTheLinkThatTookItsPlace) {
    Network network = with_peers({}, {0, 0, 0, 0});
    const LinkId old = network.open(0, 1, Lane::Control, 1);
    network.close(old, Side::Listener);
    network.close(old, Side::Dialer);
    const LinkId next = network.open(2, 3, Lane::Bulk, 2);
    EXPECT_EQ(next.index, old.index);
    EXPECT_EQ(network.find(old), nullptr);
    EXPECT_EQ(network.find(next)->remote_of(2), 3U);
}

}  // namespace
}  // namespace sim
