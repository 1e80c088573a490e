// A host lets peers cost little that are no partners of its role.
#include "swarm/protocol/limits.hpp"
#include "tests/unit/net/bad_peer.hpp"
#include "tests/unit/net/host_fixture.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <vector>

namespace swarm::net {
namespace {

using namespace std::chrono_literals;
using node::Acquaintance;
using node::Allowance;
using test::BadPeer;

/// Counts its events, and grants every peer the same.
class Granting final : public node::Role {
 public:
    Granting(Seen& seen, const Allowance& granted) : seen_(seen), granted_(granted) {}

    void on(const node::Event& event, TimePoint, node::Outbox& out) override {
        seen_.links_up += std::holds_alternative<node::LinkUp>(event);
        seen_.links_down += std::holds_alternative<node::LinkDown>(event);
        seen_.received += std::holds_alternative<node::Received>(event);
        if (const auto* up = std::get_if<node::LinkUp>(&event); up && seen_.chunks > 1) {
            const std::vector<std::byte> bytes(1U << 20);
            protocol::TensorEnvelope envelope;
            envelope.shape = {static_cast<std::uint32_t>(bytes.size())};
            for (int i = 0; i < seen_.chunks; ++i) {
                out.add(node::Send{
                    up->peer, {0, 0, protocol::Chunk{}}, node::Payload(envelope, bytes)});
            }
        }
    }

    [[nodiscard]] TimePoint next_deadline() const override { return kNever; }

    [[nodiscard]] Allowance allowance(const PeerId&) const override { return granted_; }

 private:
    Seen& seen_;
    const Allowance& granted_;
};

class HostAdmission : public HostTest {
 protected:
    void start_granting(HostOptions options = {}) {
        options.listen_address = "127.0.0.1";
        options.stall_timeout = 2s;
        host_ = make_host("server", std::make_unique<Granting>(seen_, granted_), options);
        const Result<std::uint16_t> port = host_->listen();
        ASSERT_TRUE(port.has_value()) << port.error().detail;
        port_ = *port;
        host_->start();
    }

    bool comes_up(BadPeer& peer, node::Lane lane = node::Lane::Control) {
        const int before = seen_.links_up;
        const bool said = attack([&] {
            const bool secret = peer.start_tls();
            peer.say_hello(peer.good_hello(lane));
            return secret;
        });
        return said && loop_.run_until([&] { return seen_.links_up > before; }, kPatience);
    }

    /// A Chunk whose tensor of so many bytes is announced, and its first bytes.
    static std::vector<std::byte> chunk_of(std::uint32_t bytes, std::size_t sent) {
        protocol::TensorEnvelope envelope;
        envelope.shape = {bytes};
        const std::vector<std::byte> control =
            protocol::encode_control({0, 0, protocol::Chunk{{}, {}, 0}});
        const std::vector<std::byte> tail = protocol::encode_envelope(envelope);
        protocol::FrameHeader header;
        header.kind = static_cast<std::uint16_t>(protocol::Body(protocol::Chunk{}).index());
        header.control_bytes = static_cast<std::uint32_t>(control.size());
        header.envelope_bytes = static_cast<std::uint32_t>(tail.size());
        header.tensor_bytes = bytes;
        const protocol::HeaderBytes head = protocol::encode_header(header);
        std::vector<std::byte> frame(head.begin(), head.end());
        frame.insert(frame.end(), control.begin(), control.end());
        frame.insert(frame.end(), tail.begin(), tail.end());
        frame.resize(frame.size() + sent);
        return frame;
    }

    Allowance granted_ = Allowance::without_tensors(Acquaintance::Stranger);
};

TEST_F(HostAdmission, EndsTheLinkOfAPeerWhoseTensorNobodyWants) {
    start_granting();
    BadPeer peer(port_);
    ASSERT_TRUE(comes_up(peer, node::Lane::Bulk));
    EXPECT_TRUE(attack([&] {
        peer.say_under_tls(chunk_of(256U << 20, 0));
        return peer.is_hung_up_on();
    }));
    EXPECT_TRUE(loop_.run_until([&] { return seen_.links_down == 1; }, kPatience));
    EXPECT_EQ(seen_.received, 0);
}

TEST_F(HostAdmission, TakesATensorThatTheRoleSoonWants) {
    start_granting();
    BadPeer peer(port_);
    ASSERT_TRUE(comes_up(peer, node::Lane::Bulk));
    EXPECT_TRUE(attack([&] {
        peer.say_under_tls(chunk_of(4096, 4096));
        return true;
    }));
    EXPECT_FALSE(loop_.run_until([&] { return seen_.received > 0; }, 200ms));
    granted_.tensor_bytes = 4096;
    EXPECT_TRUE(loop_.run_until([&] { return seen_.received == 1; }, kPatience));
    EXPECT_EQ(seen_.links_down, 0);
}

TEST_F(HostAdmission, RefusesALargeControlPartUnlessItIsGranted) {
    start_granting();
    protocol::FrameHeader header;
    header.kind = static_cast<std::uint16_t>(protocol::Body(protocol::Located{}).index());
    header.control_bytes = protocol::kLocatedBytesMax;
    BadPeer refused(port_);
    ASSERT_TRUE(comes_up(refused));
    EXPECT_TRUE(attack([&] {
        refused.say_under_tls(test::frame_of(header, 0));
        return refused.is_hung_up_on();
    }));
    EXPECT_TRUE(loop_.run_until([&] { return seen_.links_down == 1; }, kPatience));

    granted_.control_bytes = protocol::kLocatedBytesMax;
    BadPeer taken(port_);
    ASSERT_TRUE(comes_up(taken));
    EXPECT_TRUE(attack([&] {
        taken.say_under_tls(test::frame_of(header, 0));
        return true;
    }));
    EXPECT_FALSE(loop_.run_until([&] { return seen_.links_down == 2; }, 200ms));
}

TEST_F(HostAdmission, KeepsFewLinksOfNewcomersAndEndsTheQuietest) {
    HostOptions options;
    options.newcomers_max = 2;
    start_granting(options);
    std::vector<std::unique_ptr<BadPeer>> peers;
    for (int i = 0; i < 5; ++i) {
        peers.push_back(std::make_unique<BadPeer>(port_));
        ASSERT_TRUE(comes_up(*peers.back()));
    }
    EXPECT_TRUE(loop_.run_until([&] { return seen_.links_down == 3; }, kPatience));
    EXPECT_TRUE(attack([&] { return peers[0]->is_hung_up_on() && peers[2]->is_hung_up_on(); }));
}

// Else whoever comes back often would look like a crowd, and push out itself and others.
TEST_F(HostAdmission, CountsAPeerThatComesBackOnce) {
    HostOptions options;
    options.newcomers_max = 2;
    start_granting(options);
    BadPeer other(port_);
    ASSERT_TRUE(comes_up(other));
    const Identity identity = Identity::make_ephemeral();
    std::vector<std::unique_ptr<BadPeer>> visits;
    for (int i = 0; i < 6; ++i) {
        visits.push_back(std::make_unique<BadPeer>(port_, identity));
        ASSERT_TRUE(comes_up(*visits.back()));
    }
    EXPECT_EQ(seen_.links_down, 5);  // the earlier visits end
    EXPECT_FALSE(other.is_ended());
    EXPECT_FALSE(visits.back()->is_ended());
}

TEST_F(HostAdmission, KeepsTheLinksOfPartners) {
    HostOptions options;
    options.newcomers_max = 1;
    granted_ = {};
    start_granting(options);
    std::vector<std::unique_ptr<BadPeer>> peers;
    for (int i = 0; i < 4; ++i) {
        peers.push_back(std::make_unique<BadPeer>(port_));
        ASSERT_TRUE(comes_up(*peers.back()));
    }
    EXPECT_EQ(seen_.links_down, 0);
}

TEST_F(HostAdmission, EndsTheLinkOfASilentStrangerAndNoGuest) {
    HostOptions options;
    options.stranger_silence_max = 200ms;
    start_granting(options);
    BadPeer stranger(port_);
    ASSERT_TRUE(comes_up(stranger));
    EXPECT_TRUE(loop_.run_until([&] { return seen_.links_down == 1; }, kPatience));
    granted_ = Allowance::without_tensors(Acquaintance::Guest);
    BadPeer guest(port_);
    ASSERT_TRUE(comes_up(guest));
    EXPECT_FALSE(loop_.run_until([&] { return seen_.links_down == 2; }, 600ms));
}

TEST_F(HostAdmission, EndsTheLinkOfANewcomerThatDoesNotReadWhatItGets) {
    granted_ = Allowance::without_tensors(Acquaintance::Guest);
    seen_.chunks = 10;  // each has 1 MiB
    start_granting();
    BadPeer peer(port_);
    ASSERT_TRUE(comes_up(peer, node::Lane::Bulk));
    EXPECT_TRUE(loop_.run_until([&] { return seen_.links_down == 1; }, kPatience));
}

}  // namespace
}  // namespace swarm::net
