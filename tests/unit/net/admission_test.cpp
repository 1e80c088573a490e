#include "swarm/net/admission/arrivals.hpp"
#include "swarm/net/admission/eviction.hpp"
#include "swarm/net/admission/network.hpp"

#include <boost/asio/ip/address.hpp>
#include <gtest/gtest.h>

#include <vector>

namespace swarm::net {
namespace {

using node::Acquaintance;

std::uint64_t network(const char* text) {
    return network_of(boost::asio::ip::make_address(text));
}

TEST(Network, IsTheFirst24BitsOfIPv4AndTheFirst48OfIPv6) {
    EXPECT_EQ(network("192.0.2.1"), network("192.0.2.200"));
    EXPECT_NE(network("192.0.2.1"), network("192.0.3.1"));
    EXPECT_EQ(network("2001:db8:1:2::3"), network("2001:db8:1:ffff::9"));
    EXPECT_NE(network("2001:db8:1::1"), network("2001:db8:2::1"));
    EXPECT_NE(network("::"), network("0.0.0.0"));
}

TEST(Network, IsTheSameOverASocketForBothFamilies) {
    EXPECT_EQ(network("::ffff:192.0.2.7"), network("192.0.2.1"));
}

TEST(Arrivals, BoundOneNetworkAndNoOther) {
    Arrivals arrivals;
    const TimePoint start{std::chrono::seconds(100)};
    int taken = 0;
    for (int i = 0; i < 5000; ++i) {
        taken += arrivals.take(1, start) ? 1 : 0;
    }
    EXPECT_EQ(taken, static_cast<int>(Arrivals::kBurst));
    EXPECT_TRUE(arrivals.take(2, start));
    EXPECT_FALSE(arrivals.take(1, start));
    taken = 0;
    for (int i = 0; i < 5000; ++i) {
        taken += arrivals.take(1, start + std::chrono::seconds(1)) ? 1 : 0;
    }
    EXPECT_EQ(taken, static_cast<int>(Arrivals::kPerSecond));
}

// Whoever has many networks shares one bucket with the last of them, and fills no memory.
TEST(Arrivals, BoundTheNetworksThatTheyRemember) {
    Arrivals arrivals;
    const TimePoint start{std::chrono::seconds(100)};
    std::size_t taken = 0;
    for (std::uint64_t network = 0; network < 2 * Arrivals::kNetworksMax; ++network) {
        taken += arrivals.take(network, start) ? 1U : 0U;
    }
    EXPECT_EQ(taken, Arrivals::kNetworksMax + static_cast<std::size_t>(Arrivals::kBurst));
    // A network that was quiet is forgotten, which makes room.
    EXPECT_TRUE(arrivals.take(3 * Arrivals::kNetworksMax, start + std::chrono::seconds(60)));
}

TEST(Eviction, FallsOnTheFullestNetwork) {
    const TimePoint early{std::chrono::seconds(1)};
    const TimePoint late{std::chrono::seconds(2)};
    const std::vector<Evictable> links{
        {7, Acquaintance::Stranger, early},
        {8, Acquaintance::Guest, early},
        {8, Acquaintance::Stranger, late},
        {8, Acquaintance::Stranger, late + std::chrono::seconds(1)}};
    EXPECT_EQ(choose_eviction(links), 2U);
}

TEST(Eviction, TakesAGuestWhereThereIsNoStranger) {
    const TimePoint early{std::chrono::seconds(1)};
    const TimePoint late{std::chrono::seconds(2)};
    const std::vector<Evictable> links{
        {7, Acquaintance::Stranger, early},
        {8, Acquaintance::Guest, late},
        {8, Acquaintance::Guest, early}};
    EXPECT_EQ(choose_eviction(links), 2U);
}

}  // namespace
}  // namespace swarm::net
