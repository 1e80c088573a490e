#include "swarm/net/reach/dial_rule.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace swarm::net {
namespace {

boost::asio::ip::address at(const std::string& text) {
    return boost::asio::ip::make_address(text);
}

TEST(AddressClass, OfEachRangeAtBothEnds) {
    using enum AddressClass;
    const std::vector<std::pair<const char*, AddressClass>> known{
        {"0.0.0.0", Never},          {"0.255.255.255", Never},
        {"1.0.0.0", Public},         {"9.255.255.255", Public},
        {"10.0.0.0", Private},       {"10.255.255.255", Private},
        {"11.0.0.0", Public},        {"100.63.255.255", Public},
        {"100.64.0.0", Private},     {"100.127.255.255", Private},
        {"100.128.0.0", Public},     {"126.255.255.255", Public},
        {"127.0.0.0", Loopback},     {"127.255.255.255", Loopback},
        {"128.0.0.0", Public},       {"169.253.255.255", Public},
        {"169.254.0.0", Private},    {"169.254.169.254", Private},
        {"169.255.0.0", Public},     {"172.15.255.255", Public},
        {"172.16.0.0", Private},     {"172.31.255.255", Private},
        {"172.32.0.0", Public},      {"192.167.255.255", Public},
        {"192.168.0.0", Private},    {"192.168.255.255", Private},
        {"192.169.0.0", Public},     {"198.51.100.1", Public},
        {"223.255.255.255", Public}, {"224.0.0.0", Never},
        {"239.255.255.255", Never},  {"240.0.0.0", Never},
        {"255.255.255.255", Never},  {"::", Never},
        {"::1", Loopback},           {"::2", Never},
        {"fbff::1", Public},         {"fc00::", Private},
        {"fdff:ffff::1", Private},   {"fe00::1", Public},
        {"fe80::1", Private},        {"febf::1", Private},
        {"fec0::1", Private},        {"ff02::1", Never},
        {"2001:db8::1", Public},     {"2606:4700::1", Public}};
    for (const auto& [text, is] : known) {
        EXPECT_EQ(class_of(at(text)), is) << text;
    }
}

TEST(AddressClass, OfAnAddressThatStandsForAnIPv4One) {
    using enum AddressClass;
    EXPECT_EQ(class_of(at("::ffff:127.0.0.1")), Loopback);
    EXPECT_EQ(class_of(at("::ffff:10.1.2.3")), Private);
    EXPECT_EQ(class_of(at("::ffff:1.1.1.1")), Public);
    EXPECT_EQ(class_of(at("64:ff9b::7f00:1")), Loopback);
    EXPECT_EQ(class_of(at("64:ff9b::c0a8:1")), Private);
    EXPECT_EQ(class_of(at("64:ff9b::808:808")), Public);
    EXPECT_EQ(class_of(at("2002:7f00:1::")), Loopback);
    EXPECT_EQ(class_of(at("2002:c0a8:1::1")), Private);
    EXPECT_EQ(class_of(at("2002:808:808::1")), Public);
}

constexpr auto kTold = "told.example:1";

/// Which of a public, a private and a loopback address may be dialled, as letters.
std::string allowed(const DialRule& rule, const std::string& named = kTold) {
    std::string letters;
    letters += rule.allows(named, at("1.1.1.1")) ? "P" : "-";
    letters += rule.allows(named, at("192.168.1.1")) ? "h" : "-";
    letters += rule.allows(named, at("127.0.0.1")) ? "l" : "-";
    return letters;
}

TEST(DialRule, GoesByWhereTheProcessJoined) {
    DialRule rule(false);
    EXPECT_EQ(allowed(rule), "Phl") << "it has joined nothing yet";
    rule.joined(at("127.0.0.1"));
    EXPECT_EQ(allowed(rule), "Phl");
    rule.joined(at("192.168.1.7"));
    EXPECT_EQ(allowed(rule), "Ph-");
    rule.joined(at("::ffff:8.8.8.8"));
    EXPECT_EQ(allowed(rule), "P--");
    EXPECT_FALSE(rule.allows(kTold, at("0.0.0.0")));
}

TEST(DialRule, TheUserMayTypeAnyAddress) {
    DialRule rule(false);
    rule.typed("home.example:2");
    rule.joined(at("8.8.8.8"));
    EXPECT_EQ(allowed(rule, "home.example:2"), "Phl");
    EXPECT_EQ(allowed(rule), "P--");
    EXPECT_FALSE(rule.allows("home.example:2", at("224.0.0.1")));
}

TEST(DialRule, TheUserMayAllowPrivateNetworks) {
    DialRule rule(true);
    rule.joined(at("8.8.8.8"));
    EXPECT_EQ(allowed(rule), "Ph-");
}

}  // namespace
}  // namespace swarm::net
