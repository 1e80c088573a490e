// The fixture of the host's tests: a host whose role counts its events, and a good peer beside it.
#pragma once

#include "swarm/net/host.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace swarm::net {

inline constexpr auto kPatience = std::chrono::seconds(15);

/// Counts of a Counter's events.
struct Seen {
    int links_up = 0;
    int links_down = 0;
    int received = 0;
    std::vector<node::DialFailed> failed;
    int chunks = 1;  // an order to the role: chunks of 32 MiB for each new bulk link
};

/// A role that counts its events, and sends `chunks` on each new bulk link.
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

/// A host on a port of 127.0.0.1, and a good peer that dials it.
class HostTest : public testing::Test {
 protected:
    HostTest() { std::signal(SIGPIPE, SIG_IGN); }  // writes of BadPeer raise it

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

    /// Runs the host while the attack goes on; returns the attack's result.
    bool attack(const std::function<bool()>& attacker) {
        std::future<bool> outcome = std::async(std::launch::async, attacker);
        const auto is_over = [&] {
            return outcome.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
        };
        // The loop does not know of the future, so it looks at the future every 10 ms.
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

}  // namespace swarm::net
