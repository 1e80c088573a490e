#include "swarm/cli/common/join_address.hpp"

#include <gtest/gtest.h>

namespace swarm::cli {
namespace {

TEST(JoinAddress, AHostWithoutAPortGetsTheVerbsDefault) {
    EXPECT_EQ(with_port("example.org", kCoordinatorPort), "example.org:7117");
    EXPECT_EQ(with_port("192.168.1.7", kDirectoryPort), "192.168.1.7:7118");
    EXPECT_EQ(with_port("[fe80::1]", 7117), "[fe80::1]:7117");
    EXPECT_EQ(with_port("::1", 7117), "[::1]:7117");
}

TEST(JoinAddress, APortStays) {
    EXPECT_EQ(with_port("example.org:99", 7117), "example.org:99");
    EXPECT_EQ(with_port("[::1]:99", 7117), "[::1]:99");
}

TEST(JoinAddress, EachOfSeveralGetsAPort) {
    EXPECT_EQ(with_port("10.0.0.1,[::1]:99,host", 7117), "10.0.0.1:7117,[::1]:99,host:7117");
}

TEST(JoinAddress, WhatIsNoAddressIsLeftToItsReader) {
    for (const char* const text : {"", "host:", "host:port", "a:b:c", "[::1"}) {
        EXPECT_EQ(with_port(text, 7117), text);
    }
}

}  // namespace
}  // namespace swarm::cli
