// Things that only real sockets do to a host. tests/conformance has the contract,
// host_attack_test.cpp the attacks.
#include "swarm/net/host.hpp"

#include "tests/unit/net/bad_peer.hpp"
#include "tests/unit/net/host_fixture.hpp"
#include "tests/unit/net/mute_port.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <vector>

namespace swarm::net {
namespace {

using test::BadPeer;

TEST_F(HostTest, ALinkThatIsIdleBetweenFramesStaysUp) {
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

TEST_F(HostTest, ALinkWhosePeerStopsReadingEnds) {
    start();
    std::promise<void> release;
    std::shared_future<void> released = release.get_future().share();
    auto outcome = std::async(std::launch::async, [&] {
        BadPeer peer(port_);
        const bool up = peer.start_tls();
        peer.say_hello(peer.good_hello(node::Lane::Bulk));  // the host then sends 32 MiB
        released.wait();
        return up;
    });
    EXPECT_TRUE(loop_.run_until([&] { return seen_.links_down == 1; }, kPatience));
    release.set_value();
    EXPECT_TRUE(outcome.get());
    expect_a_good_peer_is_served();
}

TEST_F(HostTest, ARecordThatNobodyWaitsForIsWrittenWithinSeconds) {
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

TEST_F(HostTest, AGoodPeerIsServedBesideTwoHundredHalfOpenConnections) {
    start();
    std::vector<std::unique_ptr<BadPeer>> silent;
    EXPECT_TRUE(attack([&] {
        for (int i = 0; i < 200; ++i) {
            silent.push_back(std::make_unique<BadPeer>(port_));
        }
        return silent.front()->is_hung_up_on();  // the oldest made room for the newest
    }));
    expect_a_good_peer_is_served();
    EXPECT_EQ(seen_.links_up, 1);
}

TEST_F(HostTest, TheErrorNamesTheBusyPortAndSaysWhatToDo) {
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

TEST_F(HostTest, ADialFailsWhenAnotherPeerLivesAtTheAddress) {
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

TEST_F(HostTest, ADialFailsInTimeWhenNobodyAnswers) {
    options_.dial_timeout = std::chrono::milliseconds(200);
    Seen theirs;
    const test::MutePort mute;
    std::vector<node::Action> dial;
    dial.emplace_back(node::Dial{server_.peer(), node::Lane::Bulk, mute.address()});
    const auto good = make_host("good", std::make_unique<Counter>(theirs, dial), options_);
    good->start();
    EXPECT_TRUE(loop_.run_until([&] { return !theirs.failed.empty(); }, std::chrono::seconds(2)));
    EXPECT_EQ(theirs.failed.size(), 1U);
}

TEST_F(HostTest, ADialWithoutAPeerIdTakesThePeerThatAnswers) {
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
