// Peers that lend little memory: the same bits, or a clear no.
#include "tests/simulation/story.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace sim {
namespace {

constexpr std::uint32_t kMicrobatches = 16;
constexpr std::uint64_t kGraphBytes = 13 * sizeof(float);  // of the oracle, one microbatch

RunWorldOptions lending(std::uint64_t memory_bytes) {
    RunWorldOptions options;
    options.config = oracle_config(2, kMicrobatches, 6);
    options.peers = 4;
    options.peer.memory_bytes = memory_bytes;
    return options;
}

/// What training and one snapshot take (stages/memory_plan).
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

}  // namespace
}  // namespace sim
