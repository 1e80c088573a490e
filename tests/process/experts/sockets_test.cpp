// A mixture in parts on real sockets: a directory, a trunk, lenders and a client, each behind a
// host of its own on loopback. A lender that is killed changes no text.
#include "stacking/sessions/directory.hpp"
#include "swarm/net/host.hpp"
#include "tests/simulation/sessions/expert_parts.hpp"

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sim {
namespace {

using namespace std::chrono_literals;
using swarm::net::Host;

constexpr auto kPatience = 60s;

/// A loopback port that was free a moment ago.
std::uint16_t free_port() {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(socket, any, sizeof address), 0);
    EXPECT_EQ(::getsockname(socket, any, &size), 0);
    ::close(socket);
    return ntohs(address.sin_port);
}

class LentOnSockets : public testing::Test {
 protected:
    LentOnSockets() {
        directory_ =
            add(swarm::net::Identity::make_ephemeral(),
                std::make_unique<sessions::Directory>(),
                directory_port_);
    }

    std::unique_ptr<Host> add(
        const swarm::net::Identity& identity, std::unique_ptr<node::Role> role, std::uint16_t port
    ) {
        swarm::net::HostOptions options;
        options.listen_address = "127.0.0.1";
        options.listen_port = port;
        options.on_tell = [this](const node::Report& report) { hear(report); };
        auto host = std::make_unique<Host>(
            loop_, std::move(role), swarm::net::FileStore::none(), identity, options
        );
        EXPECT_TRUE(host->listen());
        host->start();
        return host;
    }

    std::unique_ptr<Host> serve(std::function<sessions::LoadedLayers()> make) {
        const auto identity = swarm::net::Identity::make_ephemeral();
        const std::uint16_t port = free_port();
        auto server = server_options(identity.peer(), std::move(make));
        server.address = "127.0.0.1:" + std::to_string(port);
        server.directory_address = at_directory();
        const std::size_t listed = listed_;
        auto host =
            add(identity, std::make_unique<sessions::SessionServer>(std::move(server)), port);
        EXPECT_TRUE(loop_.run_until([&] { return listed_ > listed; }, kPatience));
        return host;
    }

    void start_client() {
        const auto identity = swarm::net::Identity::make_ephemeral();
        auto client = client_options(identity.peer(), {7});
        client.directory_address = at_directory();
        client_ = add(identity, std::make_unique<sessions::SessionClient>(std::move(client)), 0);
    }

    void ask(std::uint64_t number) {
        tokens_.clear();
        done_ = false;
        client_->ask({request(number)});
    }

    bool run_until_tokens(std::size_t count) {
        return loop_.run_until([&] { return tokens_.size() >= count || done_; }, kPatience);
    }

    void hear(const node::Report& report) {
        if (const auto* const token = std::get_if<node::TokenStreamed>(&report)) {
            tokens_.push_back(token->token);
            done_ = token->last;
        } else if (const auto* const failed = std::get_if<node::GenerationFailed>(&report)) {
            ADD_FAILURE() << failed->reason;
            done_ = true;
        } else if (const auto* const host = std::get_if<node::HostListed>(&report)) {
            listed_ += host->listed ? 1 : 0;
        } else if (const auto* const line = std::get_if<node::LogLine>(&report)) {
            notes_ += line->text.starts_with("nobody lends") ? 1 : 0;
        }
    }

    [[nodiscard]] std::string at_directory() const {
        return "127.0.0.1:" + std::to_string(directory_port_);
    }

    swarm::net::EventLoop loop_;
    std::uint16_t directory_port_ = free_port();
    std::unique_ptr<Host> directory_;
    std::unique_ptr<Host> client_;
    std::vector<std::uint32_t> tokens_;
    bool done_ = false;
    std::size_t listed_ = 0;
    std::size_t notes_ = 0;
};

TEST_F(LentOnSockets, ALenderThatIsKilledChangesNoText) {
    const auto trunk = serve([] { return trunk_with({}); });
    std::vector<std::unique_ptr<Host>> lenders;
    for (const Experts& lent : std::vector<Experts>{{0, 1}, {2, 3}, {0, 1, 2, 3}}) {
        lenders.push_back(serve([lent] { return lender_of(set_of(lent)); }));
    }
    start_client();
    ask(1);
    ASSERT_TRUE(run_until_tokens(kTokens));
    EXPECT_EQ(tokens_, expected(1));
    ask(2);
    ASSERT_TRUE(run_until_tokens(8));
    lenders[0]->kill();
    ASSERT_TRUE(run_until_tokens(16));
    lenders[1]->kill();
    ASSERT_TRUE(run_until_tokens(kTokens));
    EXPECT_EQ(tokens_, expected(2));
    EXPECT_EQ(notes_, 0U);
}

TEST_F(LentOnSockets, ExpertsThatNobodyLendsAreLeftOutAndToldOnce) {
    const auto trunk = serve([] { return trunk_with({}); });
    const auto most = serve([] { return lender_of(set_of({0, 1, 2})); });
    const auto last = serve([] { return lender_of(set_of({3})); });
    start_client();
    ask(1);
    ASSERT_TRUE(run_until_tokens(5));
    last->kill();
    ASSERT_TRUE(run_until_tokens(kTokens));
    EXPECT_EQ(tokens_.size(), std::size_t{kTokens});
    EXPECT_EQ(notes_, 2U);  // one of the trunk, one of the client
}

}  // namespace
}  // namespace sim
