// Peers that change their stage while the run goes on.
#include "sim/run/run_world.hpp"

#include <gtest/gtest.h>

namespace sim {
namespace {

using namespace std::chrono_literals;

/// Stage 1 is three times as slow as stage 0 can feed it: 2 + 4 peers would suit it better.
RunWorldOptions lopsided() {
    RunWorldOptions options;
    options.config = oracle_config(2, 24, 60);
    options.config.rebalancer = "swarm-alg2";
    options.config.rebalance_every_s = 20;
    options.peers = 6;
    options.peer.device.units_per_s = 20;
    return options;
}

void slow_down_stage_one(RunWorld& run) {
    for (std::uint64_t n = 1; n <= 6; ++n) {
        if (run.server(peer(n))->context().stage().value == 1) {
            run.world().set_speed(peer(n), 5);
        }
    }
}

TEST(Moves, APeerMovesToTheSlowStageAndTheRunStillEqualsOneProcess) {
    const RunWorldOptions options = lopsided();
    RunWorld run(options);
    ASSERT_TRUE(run.world().run_until([&] { return run.steps().size() == 1; }, 60s));
    slow_down_stage_one(run);
    const auto stage_one_has_more = [&] {
        return run.coordinator_role()->context().roster.members({1}).size() > 3;
    };
    EXPECT_TRUE(run.world().run_until(stage_one_has_more, 300s));
    run.run(3600s);
    EXPECT_EQ(run.verdict(train_single(options.config)), "");
    EXPECT_EQ(run.fenced(), 0U);
}

TEST(Moves, AMoverThatDiesOnItsWayCostsNothing) {
    const RunWorldOptions options = lopsided();
    RunWorld run(options);
    ASSERT_TRUE(run.world().run_until([&] { return run.steps().size() == 1; }, 60s));
    slow_down_stage_one(run);
    std::optional<PeerId> mover;
    const auto leaves_its_slot = [&] {
        for (std::uint64_t n = 1; n <= 6 && !mover; ++n) {
            const auto& roster = run.coordinator_role()->context().roster;
            const auto* const slot = roster.find_peer(peer(n));
            if (slot == nullptr || slot->standing == swarm::protocol::Standing::Observer) {
                mover = peer(n);
            }
        }
        return mover.has_value();
    };
    ASSERT_TRUE(run.world().run_until(leaves_its_slot, 300s));
    run.world().crash(*mover);
    run.world().run_for(30s);
    run.world().restart(*mover);
    run.run(3600s);
    EXPECT_EQ(run.verdict(train_single(options.config)), "");
}

}  // namespace
}  // namespace sim
