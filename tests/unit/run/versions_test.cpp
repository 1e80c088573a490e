#include "swarm/run/versions.hpp"

#include <gtest/gtest.h>

#include <string>

namespace swarm::run {
namespace {

RunConfig sparse(std::uint64_t steps, std::uint32_t sync_every) {
    RunConfig config;
    config.mode = SyncMode::Sparse;
    config.steps = steps;
    config.sync_every = sync_every;
    return config;
}

/// "0 1 2 x 3": the steps by their number, each exchange as x.
std::string order_of(const RunConfig& config) {
    std::string text;
    for (std::uint64_t version = 0; version < last_version(config); ++version) {
        text += text.empty() ? "" : " ";
        text += is_exchange(config, version) ? "x" : std::to_string(steps_before(config, version));
    }
    return text;
}

TEST(Versions, AVersionOfModeExactIsAStep) {
    RunConfig config;
    config.steps = 20;
    EXPECT_EQ(last_version(config), 20U);
    for (std::uint64_t version = 0; version <= 20; ++version) {
        EXPECT_EQ(steps_before(config, version), version);
        EXPECT_FALSE(is_exchange(config, version));
        EXPECT_TRUE(is_shared_version(config, version));
    }
}

TEST(Versions, ARunWithFewerStepsThanItHasMadeIsOver) {
    RunConfig config;
    config.steps = 5;
    EXPECT_FALSE(is_over(config, 4));
    EXPECT_TRUE(is_over(config, 5));
    EXPECT_TRUE(is_over(config, 24));
}

TEST(Versions, EachComesFromAStepOrAnExchange) {
    const RunConfig config = sparse(7, 3);
    std::uint64_t exchanges = 0;
    for (std::uint64_t version = 0; version < last_version(config); ++version) {
        EXPECT_EQ(exchanges_before(config, version), exchanges) << version;
        exchanges += is_exchange(config, version) ? 1 : 0;
    }
    EXPECT_EQ(exchanges_before(config, last_version(config)), 3U);
    EXPECT_EQ(exchanges_before(RunConfig{}, 17), 0U);
}

TEST(Versions, AnExchangeEndsEachRoundOfSteps) {
    EXPECT_EQ(order_of(sparse(6, 3)), "0 1 2 x 3 4 5 x");
    EXPECT_EQ(order_of(sparse(3, 1)), "0 x 1 x 2 x");
    EXPECT_EQ(order_of(sparse(2, 8)), "0 1 x");
    EXPECT_EQ(order_of(sparse(7, 3)), "0 1 2 x 3 4 5 x 6 x") << "the last round may be shorter";
    EXPECT_EQ(order_of(sparse(10, 0)), "0 1 2 3 4 5 6 7 x 8 9 x");
}

TEST(Versions, AnExchangeFollowsEachStepAfterWhichOneProcessSynchronises) {
    for (const std::uint32_t sync_every : {1U, 2U, 3U, 5U, 8U, 40U}) {
        const RunConfig config = sparse(23, sync_every);
        std::uint64_t version = 0;
        for (std::uint64_t step = 0; step < config.steps; ++step) {
            EXPECT_FALSE(is_exchange(config, version));
            EXPECT_EQ(steps_before(config, version), step);
            ++version;
            EXPECT_EQ(is_exchange(config, version), is_sync_step(config, step)) << step;
            EXPECT_EQ(steps_before(config, version), step + 1);
            version += is_sync_step(config, step) ? 1 : 0;
        }
        EXPECT_EQ(version, last_version(config)) << sync_every;
    }
}

TEST(Versions, ReplicasHaveOneStateAtTheStartAndAfterAnExchange) {
    const RunConfig config = sparse(7, 3);
    std::string shared;
    for (std::uint64_t version = 0; version <= last_version(config); ++version) {
        shared += is_shared_version(config, version) ? std::to_string(version) + " " : "";
    }
    EXPECT_EQ(shared, "0 4 8 10 ");
    for (const std::uint64_t version : {0U, 4U, 8U, 10U}) {
        EXPECT_EQ(version_after(config, steps_before(config, version)), version);
    }
}

}  // namespace
}  // namespace swarm::run
