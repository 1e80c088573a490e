// The words that the two sides of a refused connection tell the people who run them.
#include "swarm/net/host.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace swarm::net {
namespace {

constexpr auto kPatience = std::chrono::seconds(15);
constexpr std::size_t kDials = 4;

/// Dials an address, again after each failure, kDials times in all. Without an address it only
/// listens.
class Dialer final : public node::Role {
 public:
    Dialer(std::string address, std::vector<Error>& errors)
        : address_(std::move(address)), errors_(errors) {}

    void on(const node::Event& event, TimePoint, node::Outbox& out) override {
        started_ = true;
        if (const auto* failed = std::get_if<node::DialFailed>(&event)) {
            errors_.push_back(failed->error);
        }
        if (!address_.empty() && errors_.size() < kDials) {
            out.add(node::Dial{PeerId{}, node::Lane::Control, address_});
        }
    }

    [[nodiscard]] TimePoint next_deadline() const override { return started_ ? kNever : kAtOnce; }

 private:
    std::string address_;
    std::vector<Error>& errors_;
    bool started_ = false;
};

class HostRefusalsTest : public testing::Test {
 protected:
    HostRefusalsTest() { std::signal(SIGPIPE, SIG_IGN); }  // OpenSSL's own sockets raise it

    std::unique_ptr<Host> make_host(const std::string& name, std::string dialed, std::string key) {
        HostOptions options;
        options.swarm_key = std::move(key);
        options.listen_address = "127.0.0.1";
        options.on_tell = [this](const node::Report& report) {
            const auto* const line = std::get_if<node::LogLine>(&report);
            if (line && line->level != node::LogLine::Level::Debug) {
                lines_.push_back(line->text);
            }
        };
        Result<FileStore> store = FileStore::open(folder_.path() / name);
        EXPECT_TRUE(store.has_value());
        auto role = std::make_unique<Dialer>(std::move(dialed), errors_);
        const Identity identity = Identity::make_ephemeral();
        return std::make_unique<Host>(loop_, std::move(role), std::move(*store), identity, options);
    }

    test::TemporaryFolder folder_;
    std::vector<std::string> lines_;  // log lines of both hosts
    std::vector<Error> errors_;       // errors of the dials
    EventLoop loop_;
};

TEST_F(HostRefusalsTest, AWrongSwarmKeyIsTheLikelyCauseForTheDialerAndOneLineForTheHost) {
    const auto server = make_host("server", "", "secret");
    const Result<std::uint16_t> port = server->listen();
    ASSERT_TRUE(port.has_value()) << port.error().detail;
    server->start();
    const auto dialer = make_host("dialer", "127.0.0.1:" + std::to_string(*port), "wrong");
    dialer->start();
    ASSERT_TRUE(loop_.run_until([&] { return errors_.size() == kDials; }, kPatience));
    for (const Error& error : errors_) {
        EXPECT_EQ(error.code, ErrorCode::ConnectionLost);
        EXPECT_NE(error.detail.find("--swarm-key"), std::string::npos) << error.detail;
    }
    ASSERT_EQ(lines_.size(), 1U);
    EXPECT_EQ(lines_[0], "turned a connection from 127.0.0.1 away: the peer has another swarm key");
}

}  // namespace
}  // namespace swarm::net
