// One machine opens 5,000 connections a second, and its neighbours in the same network still get in
// though each round trip takes them 200 ms. The delays are made by the clients themselves, because
// not every kernel can delay packets.
#include "tests/process/attacks/flood.hpp"

#include "tests/process/train_bed.hpp"
#include "tests/unit/net/bad_peer.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <iostream>
#include <thread>
#include <vector>

namespace swarm::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kRoundTrip(200);
constexpr int kPerSecond = 5000;
constexpr int kClients = 100;
constexpr int kAtOnce = 20;
constexpr auto kOwnerAddress = "10.99.0.2";  // the lab's first machine
constexpr std::uint16_t kPort = 7117;

/// Joins as a client whose packets take their time; returns false when it is not answered.
bool gets_in() {
    BadPeer client(kOwnerAddress, kPort);
    if (!client.start_tls_from_afar(kRoundTrip)) {
        return false;
    }
    client.say_hello(client.good_hello(protocol::Lane::Control));
    if (!client.hears_hello_from_afar(kRoundTrip)) {
        return false;
    }
    protocol::Join join;
    join.client = true;
    client.say_message({0, 0, join});
    return client.hears_message(seconds(3)).has_value();
}

class FloodTest : public TrainBed {
 protected:
    void SetUp() override {
        if (!NetworkLab::is_possible()) {
            GTEST_SKIP() << "this system lets nobody make network namespaces (issue 33)";
        }
    }

    /// Returns how many clients get in, each at its first try.
    static int clients_in(const Machine& from) {
        std::atomic<int> in = 0;
        std::vector<std::jthread> threads;
        for (int i = 0; i < kAtOnce; ++i) {
            threads.emplace_back([&] {
                enter(from.network());
                for (int j = 0; j < kClients / kAtOnce; ++j) {
                    in += gets_in() ? 1 : 0;
                }
            });
        }
        threads.clear();
        return in;
    }
};

TEST_F(FloodTest, OfOneMachineKeepsItsNeighboursIn) {
    NetworkLab lab;
    const Machine& owner = lab.add_public(Families::Ipv4);
    const Machine& attacker = lab.add_public(Families::Ipv4);
    const Machine& neighbour = lab.add_public(Families::Ipv4);
    Program run(
        {"train", "--model", "oracle", "--stages", "2", "--dir", directory.string()},
        folder.path(),
        "swarm",
        owner.network()
    );
    ASSERT_TRUE(run.wait_for_text("swarm serve --join", seconds(30))) << run.err();
    const std::uint64_t before = run.memory_bytes();
    const Flood flood(attacker, kOwnerAddress, kPort, kPerSecond);
    const auto begun = Clock::now();
    const int in = clients_in(neighbour);
    const std::chrono::duration<double> took = Clock::now() - begun;
    std::cout << flood.rate() << " connections/s for " << took.count() << " s; " << in << " of "
              << kClients << " clients got in; "
              << (static_cast<std::int64_t>(run.memory_bytes() - before) >> 20) << " MB more\n";
    EXPECT_GE(in, kClients * 95 / 100) << run.err();
    EXPECT_GE(flood.rate(), kPerSecond * 8 / 10) << "this machine cannot make the flood";
}

}  // namespace
}  // namespace swarm::test
