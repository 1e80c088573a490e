#include "swarm/cli/common/join_address.hpp"

#include "swarm/cli/common/own_address.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

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

TEST(JoinAddress, APlaceIsOneThatMachinesElsewhereReach) {
    using Addresses = std::vector<net::Address>;
    const Addresses own{{"10.0.0.7", 7}, {"2001:db8::7", 7}};
    const auto place = [&own](const Addresses& known, const Addresses& listening) {
        const JoinPlace found = join_place(known, own, [&](const net::Address& address) {
            return std::ranges::find(listening, address) != listening.end();
        });
        return found.address + (found.here_only ? " here" : "");
    };
    const net::Address loopback{"127.0.0.1", 7};
    EXPECT_EQ(place({{"example.org", 7}}, {}), "example.org:7");
    EXPECT_EQ(place({loopback, {"10.1.1.1", 7}}, {loopback}), "10.1.1.1:7");
    for (const char* const host : {"127.0.0.1", "::1", "localhost", "*", "0.0.0.0", "::"}) {
        const net::Address known{host, 7};
        EXPECT_EQ(place({known}, {known, own[0], own[1]}), "10.0.0.7:7") << host;
        EXPECT_EQ(place({known}, {known, own[1]}), "[2001:db8::7]:7") << host;
        EXPECT_EQ(place({known}, {known}), net::to_text(known) + " here");
        EXPECT_EQ(place({known}, {}), "10.0.0.7:7") << "nobody listens yet";
    }
    const auto none = [](const net::Address&) { return false; };
    EXPECT_TRUE(join_place({loopback}, {{"127.0.0.1", 7}, {"::1", 7}}, none).here_only)
        << "a machine without a network";
}

TEST(JoinAddress, AListenerIsNoticed) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof place;
    ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&place), size), 0);
    ASSERT_EQ(::getsockname(socket, reinterpret_cast<sockaddr*>(&place), &size), 0);
    const std::uint16_t port = ntohs(place.sin_port);
    EXPECT_FALSE(is_listening({"127.0.0.1", port}));
    ASSERT_EQ(::listen(socket, 1), 0);
    EXPECT_TRUE(is_listening({"127.0.0.1", port}));
    EXPECT_TRUE(is_listening({"localhost", port}));
    EXPECT_FALSE(is_listening({"127.0.0.2", port}));
    ::close(socket);
}

}  // namespace
}  // namespace swarm::cli
