// Peers that lend little memory: the same bits, or a clear no.
#include "tests/simulation/story.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace sim {
namespace {

constexpr std::uint32_t kMicrobatches = 16;
constexpr std::uint64_t kGraphBytes = 13 * sizeof(float);  // the oracle's, one microbatch

RunWorldOptions lending(std::uint64_t memory_bytes) {
    RunWorldOptions options;
    options.config = oracle_config(2, kMicrobatches, 6);
    options.peers = 4;
    options.peer.memory_bytes = memory_bytes;
    return options;
}

/// Bytes that training and one snapshot take (swarm/run/memory_plan).
std::uint64_t least_bytes() {
    const auto layout = swarm::run::partition(lending(0).config).front();
    return 52 * layout.elements() + 20 * kMicrobatches;
}

TEST(Memory, WithTheLeastGraphsAreComputedAgainAndTheWeightsAreTheSame) {
    RunWorldOptions options = lending(least_bytes() + kGraphBytes);
    options.config.checkpoint_every = 1;  // a snapshot after each commit: room for one graph
    RunWorld run(options);
    ASSERT_TRUE(run.run(600s));
    EXPECT_EQ(run.verdict(train_single(lending(0).config)), "");
    std::uint64_t recomputed = 0;
    for (std::uint64_t number = 1; number <= 4; ++number) {
        recomputed += run.server(peer(number))->context().worker->recomputed();
    }
    EXPECT_GT(recomputed, 0U);
}

TEST(Memory, APeerThatLendsTooLittleEndsAndTheRunGoesOnWithoutIt) {
    RunWorldOptions options = lending(least_bytes());
    RunWorld run(options);
    options.peer.memory_bytes = least_bytes() - 1;
    const PeerId small = peer(9);
    run.add_server(9, options.peer);
    ASSERT_TRUE(run.run(600s));
    EXPECT_EQ(run.verdict(train_single(options.config)), "");
    EXPECT_FALSE(run.world().is_running(small));
    const auto says_so = [](const std::string& line) {
        return line.find("raise --memory") != std::string::npos;
    };
    EXPECT_TRUE(std::any_of(run.log().begin(), run.log().end(), says_so));
}

/// Two stages of one and three layers.
RunWorldOptions uneven(std::uint64_t steps) {
    RunWorldOptions options;
    options.config = oracle_config(2, kMicrobatches, steps);
    options.config.model.layers = 4;
    options.config.layers_per_stage = {1, 3};
    options.peer.device.units_per_s = 20;
    return options;
}

/// Bytes that a member of the first stage of uneven() needs: too few for the second stage.
std::uint64_t first_stage_bytes() {
    const auto layout = swarm::run::partition(uneven(1).config).front();
    return 52 * layout.elements() + 20 * kMicrobatches;
}

TEST(Memory, ANewcomerGetsAStageThatItHasTheMemoryFor) {
    for (const bool is_running : {false, true}) {
        RunWorldOptions options = uneven(6);
        options.peers = 3;  // the second stage has one of them
        RunWorld run(options);
        run.world().run_until([&] { return !is_running || run.steps().size() == 2; }, 100s);
        options.peer.memory_bytes = first_stage_bytes();
        run.add_server(9, options.peer);
        ASSERT_TRUE(run.run(600s));
        EXPECT_EQ(run.verdict(train_single(options.config)), "");
        ASSERT_TRUE(run.world().is_running(peer(9)));
        EXPECT_EQ(run.server(peer(9))->context().stage().value, 0U) << is_running;
    }
}

/// The second stage has too few peers, and only two of the first stage's could help it.
TEST(Memory, OnlyAPeerWithTheMemoryMovesToALargerStage) {
    for (const char* const rebalancer : {"capacity", "swarm-alg2"}) {
        RunWorldOptions options = uneven(40);
        options.config.rebalancer = router::RebalancerName::find(rebalancer).value();
        options.config.rebalance_every_s = 20;
        options.peers = 3;
        RunWorld run(options);
        run.world().run_until([&] { return run.steps().size() == 1; }, 100s);
        options.peer.memory_bytes = first_stage_bytes();
        for (const std::uint64_t small : {7, 8, 9}) {
            run.add_server(small, options.peer);
        }
        ASSERT_TRUE(run.run(3600s)) << rebalancer;
        EXPECT_EQ(run.verdict(train_single(options.config)), "") << rebalancer;
        EXPECT_GE(run.moves(), 1U) << rebalancer;
        for (const std::uint64_t small : {7, 8, 9}) {
            ASSERT_TRUE(run.world().is_running(peer(small))) << rebalancer;
            EXPECT_EQ(run.server(peer(small))->context().stage().value, 0U) << rebalancer;
        }
    }
}

}  // namespace
}  // namespace sim
