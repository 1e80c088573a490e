// A machine asks a host whether it can be dialled; the host's role hears nothing of it.
#include "swarm/net/dial_back.hpp"

#include "tests/unit/net/host_fixture.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <vector>

namespace swarm::net {
namespace {

using protocol::DialBack;
namespace asio = boost::asio;

constexpr auto kTimeLimit = std::chrono::seconds(5);

class DialBackTest : public HostTest {
 protected:
    DialBackQuestion question(std::uint16_t port = 0) {
        return {.host = address(), .swarm_key = {}, .listen = {"127.0.0.1", 0}, .port = port};
    }

    /// Asks while the host runs.
    Result<DialBackAnswer> ask(const DialBackQuestion& question) {
        Result<DialBackAnswer> answer = Error{};
        EXPECT_TRUE(attack([&] {
            answer = ask_dial_back(question, good_, kTimeLimit);
            return true;
        }));
        EXPECT_EQ(seen_.links_up, 0);
        return answer;
    }

    /// Listens on a port and never says a word.
    std::uint16_t mute_port() {
        mute_.emplace(io_, asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), 0));
        return mute_->local_endpoint().port();
    }

    asio::io_context io_;
    std::optional<asio::ip::tcp::acceptor> mute_;
};

TEST_F(DialBackTest, ReachesTheOneThatAsks) {
    start();
    const auto answer = ask(question());
    ASSERT_TRUE(answer.has_value()) << answer.error().detail;
    EXPECT_EQ(answer->outcome, DialBack::Reached);
    EXPECT_EQ(answer->seen_from, "127.0.0.1");
    EXPECT_NE(answer->port, 0);
}

TEST_F(DialBackTest, TellsAClosedPortFromASilentOne) {
    start();
    const std::uint16_t port = mute_port();
    const auto silent = ask(question(port));
    ASSERT_TRUE(silent.has_value()) << silent.error().detail;
    EXPECT_EQ(silent->outcome, DialBack::Silent);
    mute_.reset();
    const auto refused = ask(question(port));
    ASSERT_TRUE(refused.has_value()) << refused.error().detail;
    EXPECT_EQ(refused->outcome, DialBack::Refused);
    EXPECT_EQ(refused->port, port);
}

TEST_F(DialBackTest, SeesThatAnotherPeerAnswers) {
    start();
    const auto answer = ask(question(port_));  // the host itself
    ASSERT_TRUE(answer.has_value()) << answer.error().detail;
    EXPECT_EQ(answer->outcome, DialBack::AnotherPeer);
}

TEST_F(DialBackTest, IsBusyBeyondItsBound) {
    start();
    const std::uint16_t port = mute_port();
    int busy = 0;
    EXPECT_TRUE(attack([&] {
        std::vector<std::future<Result<DialBackAnswer>>> answers;
        for (std::size_t i = 0; i < kDialBacksMax + 3; ++i) {
            answers.push_back(std::async(std::launch::async, [&] {
                return ask_dial_back(question(port), good_, kTimeLimit);
            }));
        }
        for (auto& pending : answers) {
            const auto answer = pending.get();
            busy += answer && answer->outcome == DialBack::Busy;
        }
        return true;
    }));
    EXPECT_EQ(busy, 3);
    const auto later = ask(question());
    ASSERT_TRUE(later.has_value()) << later.error().detail;
    EXPECT_EQ(later->outcome, DialBack::Reached);
}

TEST_F(DialBackTest, DialsNobodyWhoLacksTheSwarmKey) {
    HostOptions options;
    options.swarm_key = "the key of the run";
    start(options);
    EXPECT_FALSE(ask(question()).has_value());
    DialBackQuestion right = question();
    right.swarm_key = options.swarm_key;
    const auto answer = ask(right);
    ASSERT_TRUE(answer.has_value()) << answer.error().detail;
    EXPECT_EQ(answer->outcome, DialBack::Reached);
}

TEST_F(DialBackTest, SaysThatNobodyAnswers) {
    start();
    DialBackQuestion nobody = question();
    nobody.host = "127.0.0.1:" + std::to_string(mute_port());
    mute_.reset();
    const auto answer = ask(nobody);
    ASSERT_FALSE(answer.has_value());
    EXPECT_EQ(answer.error().code, ErrorCode::Unreachable);
}

}  // namespace
}  // namespace swarm::net
