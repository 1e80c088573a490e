// A host ends the connection of each attacker and still serves a good peer.
#include "swarm/protocol/limits.hpp"
#include "tests/unit/net/bad_peer.hpp"
#include "tests/unit/net/host_fixture.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace swarm::net {
namespace {

using test::BadPeer;

struct Attack {
    std::string name;
    /// Attacks; returns false when the host answers otherwise than expected.
    std::function<bool(BadPeer&)> act;
    bool comes_up = false;  // the role hears LinkUp and LinkDown
    std::string swarm_key = {};
    Duration dial_timeout = HostOptions().dial_timeout;
    int chunks = 1;  // number of chunks of 32 MiB that the host sends on a bulk link

    friend std::ostream& operator<<(std::ostream& out, const Attack& attack) {
        return out << attack.name;
    }
};

protocol::FrameHeader join_header() {
    protocol::FrameHeader header;
    header.kind = 1;
    return header;
}

/// Says a good Hello; returns false when TLS fails.
bool come_up(BadPeer& peer, node::Lane lane = node::Lane::Control) {
    if (!peer.start_tls()) {
        return false;
    }
    peer.say_hello(peer.good_hello(lane));
    return true;
}

bool shows_swarm_key(BadPeer& peer, const std::string& key) {
    if (!peer.start_tls()) {
        return false;
    }
    peer.say_hello(peer.good_hello(node::Lane::Control, key));
    return !peer.hears_hello();
}

bool says_plain_text(BadPeer& peer) {
    peer.say("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    return true;
}

bool speaks_another_version(BadPeer& peer) {
    if (!peer.start_tls()) {
        return false;
    }
    protocol::Hello hello = peer.good_hello(node::Lane::Control);
    ++hello.protocol_version;
    peer.say_hello(hello);
    return true;
}

bool says_garbage(BadPeer& peer) {
    peer.say_under_tls(std::vector<std::byte>(100, std::byte{0xa5}));
    return true;
}

/// Sends a frame with this header and zeros for `control_bytes` of its control part.
bool sends(BadPeer& peer, const protocol::FrameHeader& header, std::size_t control_bytes) {
    peer.say_under_tls(test::frame_of(header, control_bytes));
    return true;
}

bool announces_too_large_a_tensor(BadPeer& peer) {
    protocol::FrameHeader header = join_header();
    header.tensor_bytes = 4ULL << 30;
    header.envelope_bytes = 8;
    return come_up(peer) && sends(peer, header, 0);
}

bool announces_too_large_a_control_part(BadPeer& peer) {
    protocol::FrameHeader header = join_header();
    header.control_bytes = protocol::kControlBytesMax + 1;
    return come_up(peer) && sends(peer, header, 0);
}

bool sends_a_frame_of_garbage(BadPeer& peer) {
    protocol::FrameHeader header = join_header();
    header.control_bytes = 100;
    return come_up(peer) && sends(peer, header, 0) && says_garbage(peer);
}

bool stops_in_the_middle_of_a_frame(BadPeer& peer) {
    protocol::FrameHeader header = join_header();
    header.control_bytes = 100;
    return come_up(peer) && sends(peer, header, 50);
}

std::vector<Attack> attacks() {
    const int too_many_chunks = 1 + static_cast<int>(protocol::kOutboxBytesMax / (32U << 20));
    return {
        {"PlainText", says_plain_text},
        {"OlderTls", [](BadPeer& peer) { return !peer.start_tls(TLS1_2_VERSION); }},
        {.name = "MissingSwarmKey",
         .act = [](BadPeer& peer) { return shows_swarm_key(peer, ""); },
         .swarm_key = "secret"},
        {.name = "WrongSwarmKey",
         .act = [](BadPeer& peer) { return shows_swarm_key(peer, "wrong"); },
         .swarm_key = "secret"},
        {"AnotherProtocolVersion", speaks_another_version},
        {"GarbageInsteadOfAHello",
         [](BadPeer& peer) { return peer.start_tls() && says_garbage(peer); }},
        {.name = "Silence",
         .act = [](BadPeer&) { return true; },
         .dial_timeout = std::chrono::milliseconds(200)},
        {.name = "TooLargeATensor", .act = announces_too_large_a_tensor, .comes_up = true},
        {.name = "TooLargeAControlPart",
         .act = announces_too_large_a_control_part,
         .comes_up = true},
        {.name = "AFrameOfGarbage", .act = sends_a_frame_of_garbage, .comes_up = true},
        {.name = "AFrameThatStopsInTheMiddle",
         .act = stops_in_the_middle_of_a_frame,
         .comes_up = true},
        {.name = "MoreOwedThanTheLimit",
         .act = [](BadPeer& peer) { return come_up(peer, node::Lane::Bulk); },
         .comes_up = true,
         .chunks = too_many_chunks}};
}

class HostAttack : public HostTest, public testing::WithParamInterface<Attack> {};

TEST_P(HostAttack, EndsTheConnectionAndNoOther) {
    const Attack& attacker = GetParam();
    HostOptions options;
    options.swarm_key = attacker.swarm_key;
    options.dial_timeout = attacker.dial_timeout;
    seen_.chunks = attacker.chunks;
    start(options);
    EXPECT_TRUE(attack([&] {
        BadPeer peer(port_);
        return attacker.act(peer) && peer.is_hung_up_on();
    }));
    const int links = attacker.comes_up ? 1 : 0;
    EXPECT_TRUE(loop_.run_until([&] { return seen_.links_down == links; }, kPatience));
    EXPECT_EQ(seen_.links_up, links);
    EXPECT_EQ(seen_.received, 0);
    expect_a_good_peer_is_served();
}

INSTANTIATE_TEST_SUITE_P(
    Attacks,
    HostAttack,
    testing::ValuesIn(attacks()),
    [](const testing::TestParamInfo<Attack>& attacker) { return attacker.param.name; }
);

}  // namespace
}  // namespace swarm::net
