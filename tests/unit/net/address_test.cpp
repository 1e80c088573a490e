#include "swarm/net/address.hpp"

#include <gtest/gtest.h>

namespace swarm::net {
namespace {

TEST(Address, ReadsNamesAndNumbers) {
    EXPECT_EQ(*parse_address("example.org:9000"), (Address{"example.org", 9000}));
    EXPECT_EQ(*parse_address("127.0.0.1:1"), (Address{"127.0.0.1", 1}));
    EXPECT_EQ(*parse_address("[::1]:65535"), (Address{"::1", 65535}));
}

TEST(Address, ReadsTheTextThatItWrote) {
    for (const char* text : {"example.org:9000", "127.0.0.1:1", "[::1]:65535"}) {
        EXPECT_EQ(to_text(*parse_address(text)), text);
    }
}

TEST(Addresses, AreSeveralOfOnePeerInOneText) {
    const std::string text = "192.168.1.7:7117,[fd00::7]:7117,example.org:9000";
    const auto addresses = parse_addresses(text);
    ASSERT_TRUE(addresses.has_value());
    ASSERT_EQ(addresses->size(), 3U);
    EXPECT_EQ((*addresses)[1], (Address{"fd00::7", 7117}));
    EXPECT_EQ(to_text(*addresses), text);
    EXPECT_EQ(parse_addresses("127.0.0.1:1")->size(), 1U);
}

TEST(Addresses, AreRefusedWhenOneIsNoAddressOrTheyAreTooMany) {
    EXPECT_FALSE(parse_addresses("").has_value());
    EXPECT_FALSE(parse_addresses("127.0.0.1:1,").has_value());
    EXPECT_FALSE(parse_addresses("127.0.0.1:1,,127.0.0.1:2").has_value());
    std::string many = "a:1";
    for (std::size_t i = 1; i < kAddressesMax; ++i) {
        many += ",a:1";
    }
    EXPECT_TRUE(parse_addresses(many).has_value());
    EXPECT_FALSE(parse_addresses(many + ",a:1").has_value());
}

TEST(Address, RefusesOtherTextsAndSaysHowToWriteAnAddress) {
    for (const char* text :
         {"", "host", "host:", ":1", "host:0", "host:65536", "host:1x", "::1:5"}) {
        const auto refused = parse_address(text);
        ASSERT_FALSE(refused.has_value()) << text;
        EXPECT_NE(refused.error().detail.find("host:port"), std::string::npos);
    }
}

TEST(Address, ThatLeadsToThisMachineIsALoopback) {
    for (const char* const host : {"127.0.0.1", "127.8.9.1", "::1", "localhost"}) {
        EXPECT_TRUE(is_loopback(host)) << host;
    }
    for (const char* const host : {"10.0.0.1", "::", "fd00::1", "example.org", ""}) {
        EXPECT_FALSE(is_loopback(host)) << host;
    }
}

}  // namespace
}  // namespace swarm::net
