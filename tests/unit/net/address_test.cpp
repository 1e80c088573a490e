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

TEST(Address, RefusesOtherTextsAndSaysHowToWriteAnAddress) {
    for (const char* text :
         {"", "host", "host:", ":1", "host:0", "host:65536", "host:1x", "::1:5"}) {
        const auto refused = parse_address(text);
        ASSERT_FALSE(refused.has_value()) << text;
        EXPECT_NE(refused.error().detail.find("host:port"), std::string::npos);
    }
}

}  // namespace
}  // namespace swarm::net
