#include "sim/network.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace sim {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart{};

TEST(Network, FramesOfOneDirectionArriveInOrderWithinTheLatencyBounds) {
    Network network(1, {.latency_min = 5ms, .latency_max = 60ms});
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

TEST(Network, AnotherLinkShiftsNobodysLatencies) {
    const auto latencies = [](bool with_another) {
        Network network(1, {});
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

TEST(Network, ALinkIsForgottenOnceBothEndsAreClosed) {
    Network network(1, {});
    const LinkId id = network.open(0, 1, Lane::Control, 1);
    network.close(id, Side::Listener);
    EXPECT_NE(network.find(id), nullptr);
    network.close(id, Side::Dialer);
    EXPECT_EQ(network.find(id), nullptr);
    EXPECT_EQ(network.open_links(), 0U);
}

TEST(Network, AnOldIdDoesNotFindTheLinkThatTookItsPlace) {
    Network network(1, {});
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
