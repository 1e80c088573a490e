// What only real sockets can do to a host; the contract itself is in tests/conformance. After every
// attack the host must still serve a good peer.
#include "swarm/net/host.hpp"

#include "swarm/protocol/limits.hpp"
#include "tests/unit/net/bad_peer.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <functional>
#include <future>
#include <memory>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace swarm::net {
namespace {

using test::BadPeer;

constexpr auto kPatience = std::chrono::seconds(15);

struct Seen {
    int links_up = 0;
    int links_down = 0;
    int received = 0;
    std::vector<node::DialFailed> failed;
    int chunks = 1;  // of 32 MiB, sent to each new bulk link
};

/// Counts what it sees, and sends a lot on each new bulk link.
class Counter final : public node::Role {
 public:
    Counter(Seen& seen, std::vector<node::Action> first) : seen_(seen), first_(std::move(first)) {}

    void on(const node::Event& event, TimePoint, node::Outbox& out) override {
        seen_.links_down += std::holds_alternative<node::LinkDown>(event);
        seen_.received += std::holds_alternative<node::Received>(event);
        if (const auto* failed = std::get_if<node::DialFailed>(&event)) {
            seen_.failed.push_back(*failed);
        }
        if (const auto* up = std::get_if<node::LinkUp>(&event)) {
            ++seen_.links_up;
            if (up->lane == node::Lane::Bulk) {
                send_a_lot(up->peer, out);
            }
        }
        for (node::Action& action : first_) {
            out.actions.push_back(std::move(action));
        }
        first_.clear();
    }

    [[nodiscard]] TimePoint next_deadline() const override {
        return first_.empty() ? kNever : kAtOnce;
    }

 private:
    void send_a_lot(const PeerId& peer, node::Outbox& out) const {
        constexpr std::uint32_t kBytes = 32U << 20;
        protocol::TensorEnvelope envelope;
        envelope.shape = {kBytes};
        const node::Payload payload(envelope, std::vector<std::byte>(kBytes));
        for (int i = 0; i < seen_.chunks; ++i) {
            out.add(node::Send{peer, {0, 0, protocol::Chunk{}}, payload});
        }
    }

    Seen& seen_;
    std::vector<node::Action> first_;
};

class HostTest : public testing::Test {
 protected:
    HostTest() { std::signal(SIGPIPE, SIG_IGN); }  // OpenSSL's own sockets raise it

    void start(HostOptions options = {}) {
        options.listen_address = "127.0.0.1";
        options.stall_timeout = std::chrono::milliseconds(300);
        host_ = make_host("server", std::make_unique<Counter>(seen_, no_actions()), options);
        const Result<std::uint16_t> port = host_->listen();
        ASSERT_TRUE(port.has_value()) << port.error().detail;
        port_ = *port;
        options_ = options;
        host_->start();
    }

    static std::vector<node::Action> no_actions() { return {}; }

    std::unique_ptr<Host> make_host(
        const std::string& name, std::unique_ptr<node::Role> role, const HostOptions& options
    ) {
        const Identity& identity = name == "server" ? server_ : good_;
        Result<FileStore> store = FileStore::open(folder_.path() / name);
        EXPECT_TRUE(store.has_value());
        return std::make_unique<Host>(loop_, std::move(role), std::move(*store), identity, options);
    }

    /// Runs the host while the attack goes on; what the attack returned.
    bool attack(const std::function<bool()>& attacker) {
        std::future<bool> outcome = std::async(std::launch::async, attacker);
        const auto is_over = [&] {
            return outcome.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
        };
        // The loop does not know of the future: look at it as often as something happens there.
        const auto end = std::chrono::steady_clock::now() + kPatience;
        while (!is_over() && std::chrono::steady_clock::now() < end) {
            (void)loop_.run_until(is_over, std::chrono::milliseconds(10));
        }
        return outcome.get();
    }

    void expect_a_good_peer_is_served() {
        const int before = seen_.links_up;
        Seen theirs;
        std::vector<node::Action> dial;
        dial.emplace_back(node::Dial{server_.peer(), node::Lane::Control, address()});
        const auto good = make_host("good", std::make_unique<Counter>(theirs, dial), options_);
        good->start();
        const auto both_up = [&] { return theirs.links_up == 1 && seen_.links_up == before + 1; };
        EXPECT_TRUE(loop_.run_until(both_up, kPatience));
        good->kill();
        EXPECT_TRUE(loop_.run_until([&] { return good->finished(); }, kPatience));
    }

    std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

    test::TemporaryFolder folder_;
    Identity server_ = Identity::make_ephemeral();
    Identity good_ = Identity::make_ephemeral();
    Seen seen_;
    EventLoop loop_;
    HostOptions options_;
    std::unique_ptr<Host> host_;
    std::uint16_t port_ = 0;
};

TEST_F(HostTest, HangsUpOnPlainText) {
    start();
    EXPECT_TRUE(attack([&] {
        const BadPeer peer(port_);
        peer.say("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
        return peer.is_hung_up_on();
    }));
    EXPECT_EQ(seen_.links_up, 0);
    expect_a_good_peer_is_served();
}

TEST_F(HostTest, HangsUpOnAnOlderTls) {
    start();
    EXPECT_TRUE(attack([&] {
        BadPeer peer(port_);
        return !peer.start_tls(TLS1_2_VERSION) && peer.is_hung_up_on();
    }));
    expect_a_good_peer_is_served();
}

TEST_F(HostTest, HangsUpOnAWrongOrMissingSwarmKeyBeforeTheRoleHearsOfIt) {
    HostOptions options;
    options.swarm_key = "secret";
    start(options);
    for (const char* key : {"", "wrong"}) {
        EXPECT_TRUE(attack([&] {
            BadPeer peer(port_);
            if (!peer.start_tls()) {
                return false;
            }
            peer.say_hello(peer.good_hello(node::Lane::Control, key));
            return !peer.hears_hello() && peer.is_hung_up_on();
        })) << key;
    }
    EXPECT_EQ(seen_.links_up, 0);
    expect_a_good_peer_is_served();
}

TEST_F(HostTest, HangsUpOnAnotherProtocolVersion) {
    start();
    EXPECT_TRUE(attack([&] {
        BadPeer peer(port_);
        if (!peer.start_tls()) {
            return false;
        }
        protocol::Hello hello = peer.good_hello(node::Lane::Control);
        ++hello.protocol_version;
        peer.say_hello(hello);
        return peer.is_hung_up_on();
    }));
    EXPECT_EQ(seen_.links_up, 0);
    expect_a_good_peer_is_served();
}

TEST_F(HostTest, HangsUpOnGarbageInsteadOfAHello) {
    start();
    EXPECT_TRUE(attack([&] {
        BadPeer peer(port_);
        if (!peer.start_tls()) {
            return false;
        }
        peer.say_under_tls(std::vector<std::byte>(100, std::byte{0xa5}));
        return peer.is_hung_up_on();
    }));
    EXPECT_EQ(seen_.links_up, 0);
    expect_a_good_peer_is_served();
}

TEST_F(HostTest, EndsALinkThatAnnouncesMoreThanTheLimit) {
    start();
    protocol::FrameHeader header;
    header.kind = 1;
    header.tensor_bytes = 4ULL << 30;
    header.envelope_bytes = 8;
    EXPECT_TRUE(attack([&] {
        BadPeer peer(port_);
        if (!peer.start_tls()) {
            return false;
        }
        peer.say_hello(peer.good_hello(node::Lane::Control));
        peer.say_under_tls(test::frame_of(header, 0));
        return peer.is_hung_up_on();
    }));
    EXPECT_EQ(seen_.links_up, 1);
    EXPECT_TRUE(loop_.run_until([&] { return seen_.links_down == 1; }, kPatience));
    EXPECT_EQ(seen_.received, 0);
    expect_a_good_peer_is_served();
}

TEST_F(HostTest, EndsALinkWhoseFrameIsLargerThanItsKindAllows) {
    start();
    protocol::FrameHeader header;
    header.kind = 1;
    header.control_bytes = protocol::kControlBytesMax + 1;
    EXPECT_TRUE(attack([&] {
        BadPeer peer(port_);
        if (!peer.start_tls()) {
            return false;
        }
        peer.say_hello(peer.good_hello(node::Lane::Control));
        peer.say_under_tls(test::frame_of(header, 0));
        return peer.is_hung_up_on();
    }));
    EXPECT_TRUE(loop_.run_until([&] { return seen_.links_down == 1; }, kPatience));
    EXPECT_EQ(seen_.received, 0);
    expect_a_good_peer_is_served();
}

TEST_F(HostTest, EndsALinkThatSaysGarbage) {
    start();
    protocol::FrameHeader header;
    header.kind = 1;
    header.control_bytes = 100;
    EXPECT_TRUE(attack([&] {
        BadPeer peer(port_);
        if (!peer.start_tls()) {
            return false;
        }
        peer.say_hello(peer.good_hello(node::Lane::Control));
        peer.say_under_tls(test::frame_of(header, 0));
        peer.say_under_tls(std::vector<std::byte>(100, std::byte{0xa5}));
        return peer.is_hung_up_on();
    }));
    EXPECT_TRUE(loop_.run_until([&] { return seen_.links_down == 1; }, kPatience));
    EXPECT_EQ(seen_.received, 0);
    expect_a_good_peer_is_served();
}

TEST_F(HostTest, EndsALinkWhoseFrameStopsInTheMiddle) {
    start();
    protocol::FrameHeader header;
    header.kind = 1;
    header.control_bytes = 100;
    EXPECT_TRUE(attack([&] {
        BadPeer peer(port_);
        if (!peer.start_tls()) {
            return false;
        }
        peer.say_hello(peer.good_hello(node::Lane::Control));
        peer.say_under_tls(test::frame_of(header, 50));
        return peer.is_hung_up_on();  // and says nothing more
    }));
    EXPECT_TRUE(loop_.run_until([&] { return seen_.links_down == 1; }, kPatience));
    EXPECT_EQ(seen_.received, 0);
    expect_a_good_peer_is_served();
}

TEST_F(HostTest, KeepsALinkThatIsIdleBetweenFrames) {
    start();
    std::promise<void> release;
    std::shared_future<void> released = release.get_future().share();
    auto outcome = std::async(std::launch::async, [&] {
        BadPeer peer(port_);
        const bool up = peer.start_tls();
        peer.say_hello(peer.good_hello(node::Lane::Control));
        released.wait();
        return up;
    });
    ASSERT_TRUE(loop_.run_until([&] { return seen_.links_up == 1; }, kPatience));
    const auto thrice_the_stall = std::chrono::milliseconds(900);
    EXPECT_FALSE(loop_.run_until([&] { return seen_.links_down > 0; }, thrice_the_stall));
    release.set_value();
    EXPECT_TRUE(loop_.run_until([&] { return seen_.links_down == 1; }, kPatience));
    EXPECT_TRUE(outcome.get());
}

TEST_F(HostTest, EndsALinkWhosePeerStopsReading) {
    start();
    std::promise<void> release;
    std::shared_future<void> released = release.get_future().share();
    auto outcome = std::async(std::launch::async, [&] {
        BadPeer peer(port_);
        const bool up = peer.start_tls();
        peer.say_hello(peer.good_hello(node::Lane::Bulk));  // and is sent 32 MiB
        released.wait();
        return up;
    });
    EXPECT_TRUE(loop_.run_until([&] { return seen_.links_down == 1; }, kPatience));
    release.set_value();
    EXPECT_TRUE(outcome.get());
    expect_a_good_peer_is_served();
}

TEST_F(HostTest, EndsALinkToWhichMoreIsOwedThanTheLimit) {
    start();
    seen_.chunks = 1 + static_cast<int>(protocol::kOutboxBytesMax / (32U << 20));
    EXPECT_TRUE(attack([&] {
        BadPeer peer(port_);
        if (!peer.start_tls()) {
            return false;
        }
        peer.say_hello(peer.good_hello(node::Lane::Bulk));
        return peer.is_hung_up_on();
    }));
    EXPECT_TRUE(loop_.run_until([&] { return seen_.links_down == 1; }, kPatience));
    expect_a_good_peer_is_served();
}

TEST_F(HostTest, WritesARecordThatNobodyWaitsForWithinSeconds) {
    std::vector<node::Action> appends;
    appends.emplace_back(node::Append{{1}, "nobody waits", false});
    const auto host = make_host("good", std::make_unique<Counter>(seen_, appends), options_);
    const auto log = folder_.path() / "good" / "journal.log";
    const auto empty = std::filesystem::file_size(log);
    host->start();
    const auto end = std::chrono::steady_clock::now() + kPatience;
    const auto is_written = [&] { return std::filesystem::file_size(log) > empty; };
    while (!is_written() && std::chrono::steady_clock::now() < end) {
        (void)loop_.run_until(is_written, std::chrono::milliseconds(10));
    }
    EXPECT_TRUE(is_written());
}

TEST_F(HostTest, ServesAGoodPeerBesideTwoHundredHalfOpenConnections) {
    start();
    std::vector<std::unique_ptr<BadPeer>> silent;
    EXPECT_TRUE(attack([&] {
        for (int i = 0; i < 200; ++i) {
            silent.push_back(std::make_unique<BadPeer>(port_));
        }
        return silent.front()->is_hung_up_on();  // the oldest had to go for the newest
    }));
    expect_a_good_peer_is_served();
    EXPECT_EQ(seen_.links_up, 1);
}

TEST_F(HostTest, HangsUpOnAStrangerWhoSaysNothing) {
    HostOptions options;
    options.dial_timeout = std::chrono::milliseconds(200);
    start(options);
    EXPECT_TRUE(attack([&] { return BadPeer(port_).is_hung_up_on(); }));
}

TEST_F(HostTest, SaysWhichPortIsBusyAndWhatToDo) {
    start();
    HostOptions options = options_;
    options.listen_port = port_;
    const auto second =
        make_host("second", std::make_unique<Counter>(seen_, no_actions()), options);
    const Result<std::uint16_t> refused = second->listen();
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::Usage);
    EXPECT_NE(refused.error().detail.find(std::to_string(port_)), std::string::npos);
    EXPECT_NE(refused.error().detail.find("choose another port"), std::string::npos);
}

TEST_F(HostTest, DialFailsWhenAnotherPeerLivesThere) {
    start();
    Seen theirs;
    std::vector<node::Action> dial;
    const PeerId stranger = Identity::make_ephemeral().peer();
    dial.emplace_back(node::Dial{stranger, node::Lane::Control, address()});
    const auto good = make_host("good", std::make_unique<Counter>(theirs, dial), options_);
    good->start();
    ASSERT_TRUE(loop_.run_until([&] { return !theirs.failed.empty(); }, kPatience));
    EXPECT_EQ(theirs.failed[0].peer, stranger);
    EXPECT_EQ(theirs.failed[0].error.code, ErrorCode::Unauthorised);
    EXPECT_EQ(theirs.links_up, 0);
}

TEST_F(HostTest, DialFailsInTimeWhenNobodyAnswers) {
    options_.dial_timeout = std::chrono::milliseconds(200);
    Seen theirs;
    const int mute = ::socket(AF_INET, SOCK_STREAM, 0);  // connects, never speaks
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof where;
    auto* const raw = reinterpret_cast<sockaddr*>(&where);
    ASSERT_EQ(::bind(mute, raw, size), 0);
    ASSERT_EQ(::listen(mute, 1), 0);
    ASSERT_EQ(::getsockname(mute, raw, &size), 0);
    const std::string there = "127.0.0.1:" + std::to_string(ntohs(where.sin_port));
    std::vector<node::Action> dial;
    dial.emplace_back(node::Dial{server_.peer(), node::Lane::Bulk, there});
    const auto good = make_host("good", std::make_unique<Counter>(theirs, dial), options_);
    good->start();
    EXPECT_TRUE(loop_.run_until([&] { return !theirs.failed.empty(); }, std::chrono::seconds(2)));
    EXPECT_EQ(theirs.failed.size(), 1U);
    ::close(mute);
}

TEST_F(HostTest, IdentifiesThePeerAtAnAddress) {
    start();
    const Identity newcomer = Identity::make_ephemeral();
    EXPECT_TRUE(attack([&] {
        const auto found = identify_peer(address(), newcomer, std::chrono::seconds(3));
        return found && *found == server_.peer();
    }));
    EXPECT_EQ(seen_.links_up, 0);
}

TEST_F(HostTest, DialOfNobodyInParticularTellsWhoAnswered) {
    start();
    Seen theirs;
    std::vector<node::Action> dial;
    dial.emplace_back(node::Dial{PeerId{}, node::Lane::Control, address()});
    const auto good = make_host("good", std::make_unique<Counter>(theirs, dial), options_);
    good->start();
    EXPECT_TRUE(loop_.run_until([&] { return theirs.links_up == 1; }, kPatience));
}

}  // namespace
}  // namespace swarm::net
