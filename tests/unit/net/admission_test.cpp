#include "swarm/net/admission/arrivals.hpp"
#include "swarm/net/admission/eviction.hpp"
#include "swarm/net/admission/origin.hpp"
#include "tests/start.hpp"

#include <boost/asio/ip/address.hpp>
#include <gtest/gtest.h>

#include <vector>

namespace swarm::net {
namespace {

using node::Acquaintance;
using swarm::test::kStart;

std::uint64_t network(const char* text) {
    return origin_of(boost::asio::ip::make_address(text)).network;
}

std::uint64_t machine(const char* text) {
    return origin_of(boost::asio::ip::make_address(text)).machine;
}

TEST(Origin, HasANetworkOfTheFirst24BitsOfIPv4AndTheFirst48OfIPv6) {
    EXPECT_EQ(network("192.0.2.1"), network("192.0.2.200"));
    EXPECT_NE(network("192.0.2.1"), network("192.0.3.1"));
    EXPECT_EQ(network("2001:db8:1:2::3"), network("2001:db8:1:ffff::9"));
    EXPECT_NE(network("2001:db8:1::1"), network("2001:db8:2::1"));
    EXPECT_NE(network("::"), network("0.0.0.0"));
}

TEST(Origin, HasAMachineOfOneIPv4AddressOrTheFirst64BitsOfIPv6) {
    EXPECT_NE(machine("192.0.2.1"), machine("192.0.2.2"));
    EXPECT_EQ(machine("2001:db8:1:2::3"), machine("2001:db8:1:2:ffff::9"));
    EXPECT_NE(machine("2001:db8:1:2::3"), machine("2001:db8:1:3::3"));
}

TEST(Origin, IsTheSameOverASocketForBothFamilies) {
    EXPECT_EQ(network("::ffff:192.0.2.7"), network("192.0.2.1"));
    EXPECT_EQ(machine("::ffff:192.0.2.7"), machine("192.0.2.7"));
}

/// Returns how many of 5,000 connections at this time are taken.
int taken_of(Arrivals& arrivals, const Origin& origin, TimePoint now) {
    int taken = 0;
    for (int i = 0; i < 5000; ++i) {
        taken += arrivals.take(origin, now) ? 1 : 0;
    }
    return taken;
}

TEST(Arrivals, BoundOneMachineAndNoOther) {
    Arrivals arrivals;
    EXPECT_EQ(taken_of(arrivals, {1, 1}, kStart), static_cast<int>(Arrivals::kBurst));
    EXPECT_TRUE(arrivals.take({2, 2}, kStart));
    EXPECT_TRUE(arrivals.take({1, 2}, kStart)) << "a neighbour pays for a machine that floods";
    EXPECT_FALSE(arrivals.take({1, 1}, kStart));
    const TimePoint later = kStart + std::chrono::seconds(1);
    EXPECT_EQ(taken_of(arrivals, {1, 1}, later), static_cast<int>(Arrivals::kPerSecond));
}

TEST(Arrivals, BoundANetworkOfManyMachines) {
    Arrivals arrivals;
    int taken = 0;
    for (std::uint64_t number = 0; number < 100; ++number) {
        taken += taken_of(arrivals, {1, number}, kStart);
    }
    EXPECT_EQ(taken, static_cast<int>(Arrivals::kMachines * Arrivals::kBurst));
    EXPECT_TRUE(arrivals.take({2, 1000}, kStart));
}

// Whoever has many networks shares one bucket with the last of them, and fills no memory.
TEST(Arrivals, BoundTheNumbersThatTheyRemember) {
    Arrivals arrivals;
    std::size_t taken = 0;
    for (std::uint64_t number = 0; number < 2 * Buckets::kRememberedMax; ++number) {
        taken += arrivals.take({number, number}, kStart) ? 1U : 0U;
    }
    EXPECT_EQ(taken, Buckets::kRememberedMax + static_cast<std::size_t>(Arrivals::kBurst));
    // A network that was quiet is forgotten, which makes room.
    constexpr std::uint64_t kNew = 3 * Buckets::kRememberedMax;
    EXPECT_TRUE(arrivals.take({kNew, kNew}, kStart + std::chrono::seconds(60)));
}

TEST(Eviction, FallsOnTheFullestNetwork) {
    const TimePoint early{std::chrono::seconds(1)};
    const TimePoint late{std::chrono::seconds(2)};
    const std::vector<Evictable> links{
        {{7, 70}, Acquaintance::Stranger, early},
        {{8, 80}, Acquaintance::Guest, early},
        {{8, 80}, Acquaintance::Stranger, late},
        {{8, 80}, Acquaintance::Stranger, late + std::chrono::seconds(1)}};
    EXPECT_EQ(choose_eviction(links), 2U);
}

TEST(Eviction, TakesAGuestWhereThereIsNoStranger) {
    const TimePoint early{std::chrono::seconds(1)};
    const TimePoint late{std::chrono::seconds(2)};
    const std::vector<Evictable> links{
        {{7, 70}, Acquaintance::Stranger, early},
        {{8, 80}, Acquaintance::Guest, late},
        {{8, 80}, Acquaintance::Guest, early}};
    EXPECT_EQ(choose_eviction(links), 2U);
}

TEST(Eviction, FallsOnTheFullestMachineOfTheNetwork) {
    const TimePoint early{std::chrono::seconds(1)};
    const TimePoint late{std::chrono::seconds(2)};
    const std::vector<Evictable> links{
        {{8, 80}, Acquaintance::Stranger, early},
        {{8, 81}, Acquaintance::Stranger, late},
        {{8, 81}, Acquaintance::Stranger, late + std::chrono::seconds(1)}};
    EXPECT_EQ(choose_eviction(links), 1U);
}

TEST(Eviction, GoesOnWithTheNetworkThatIsTheFullestThen) {
    const auto at = [](int second) { return TimePoint{std::chrono::seconds(second)}; };
    const std::vector<Evictable> links{
        {{7, 70}, Acquaintance::Stranger, at(2)},
        {{7, 70}, Acquaintance::Guest, at(1)},
        {{8, 80}, Acquaintance::Stranger, at(5)},
        {{8, 80}, Acquaintance::Stranger, at(4)},
        {{8, 80}, Acquaintance::Stranger, at(3)}};
    EXPECT_EQ(choose_evictions(links, 4), (std::vector<std::size_t>{4, 3, 0, 2}));
    EXPECT_EQ(choose_evictions(links, 9).size(), links.size());
}

}  // namespace
}  // namespace swarm::net
