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

constexpr const char* kName = "5qzl7fd3m2xwk6vhtcay4ngrbe";

TEST(JoinAddress, ANameStandsBeforeTheAddress) {
    const std::string name = kName;
    const auto expect = [](const std::string& text, const std::string& who, const char* where) {
        const auto target = parse_join(text, kCoordinatorPort);
        ASSERT_TRUE(target.has_value()) << text << ": " << target.error().detail;
        EXPECT_EQ(target->name, who) << text;
        EXPECT_EQ(target->addresses, where) << text;
    };
    expect("example.org", "", "example.org:7117");
    expect(name + "@example.org", name, "example.org:7117");
    expect(name + "@192.168.1.7:99", name, "192.168.1.7:99");
    expect(name + "@[::1]:99", name, "[::1]:99");
    expect(name + "@::1", name, "[::1]:7117");
    expect(name + name + "@host", name + name, "host:7117");  // a whole id
    expect(name + "@a,[::1]:9", name, "a:7117,[::1]:9");
    expect("5QZL7FD3M2XWK6VHTCAY4NGRBE@host:1", name, "host:1");  // a scanner may give capitals
}

TEST(JoinAddress, WhatNamesNobodyIsRefusedWithTheLikelyMistake) {
    const auto reason = [](const std::string& text) {
        const auto target = parse_join(text, kCoordinatorPort);
        EXPECT_FALSE(target.has_value()) << text;
        return target ? std::string() : target.error().detail;
    };
    const std::string name = kName;
    EXPECT_EQ(
        reason("abc@host:1"),
        "'abc' before the @ names nobody: it has 3 digits, and a name has 26 or 52; paste the line "
        "that `swarm train` or `swarm directory` prints"
    );
    const auto expect = [&](const std::string& text, const std::string& part) {
        EXPECT_NE(reason(text).find(part), std::string::npos) << reason(text);
    };
    expect("@host:1", "it has 0 digits");
    expect(name + "a@host", "it has 27 digits");
    expect("0" + name.substr(1) + "@host", "'0' is none, is it an o?");
    expect("1" + name.substr(1) + "@host", "'1' is none, is it an l or an i?");
    expect("8" + name.substr(1) + "@host", "'8' is none, is it a b?");
    expect("user@" + name + "@host", "'@' is none");
    expect("root@example.org", "it has 4 digits");
}

}  // namespace
}  // namespace swarm::cli
