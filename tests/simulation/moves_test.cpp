// Peers that change their stage while the run goes on.
#include "sim/run/run_world.hpp"

#include <gtest/gtest.h>

namespace sim {
namespace {

using namespace std::chrono_literals;
using swarm::protocol::SlotInfo;
using swarm::protocol::Standing;

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

/// Waits until one of the six that came first has a slot for which `is_it` holds, or none.
template <class Matches>
std::optional<PeerId> wait_for(RunWorld& run, Matches&& is_it) {
    std::optional<PeerId> found;
    const auto look = [&] {
        for (std::uint64_t n = 1; n <= 6 && !found; ++n) {
            if (is_it(run.coordinator_role()->context().roster.find_peer(peer(n)))) {
                found = peer(n);
            }
        }
        return found.has_value();
    };
    run.world().run_until(look, 300s);
    return found;
}

bool is_draining(const SlotInfo* slot) {
    return slot != nullptr && slot->standing == Standing::Draining;
}

bool is_on_its_way(const SlotInfo* slot) {
    return slot == nullptr || slot->standing == Standing::Observer;
}

bool leaves(RunWorld& run, PeerId mover) {
    bool left = false;
    run.observe_reports([&](PeerId from, const node::Report& report) {
        left = left || (from == mover && std::holds_alternative<node::ServerDone>(report));
    });
    run.world().ask(mover, node::Asked{node::DrainRequest{}});
    run.world().run_until([&] { return left; }, 30s);
    run.observe_reports({});
    return left;
}

TEST(Moves, AMoverThatDiesOnItsWayCostsNothing) {
    const RunWorldOptions options = lopsided();
    RunWorld run(options);
    ASSERT_TRUE(run.world().run_until([&] { return run.steps().size() == 1; }, 60s));
    slow_down_stage_one(run);
    const auto mover = wait_for(run, &is_on_its_way);
    ASSERT_TRUE(mover);
    run.world().crash(*mover);
    run.world().run_for(30s);
    run.world().restart(*mover);
    run.run(3600s);
    EXPECT_EQ(run.verdict(train_single(options.config)), "");
}

TEST(Moves, AMoverThatDiesOnItsWayForGoodIsNotTheLastToMove) {
    const RunWorldOptions options = lopsided();
    RunWorld run(options);
    ASSERT_TRUE(run.world().run_until([&] { return run.steps().size() == 1; }, 60s));
    slow_down_stage_one(run);
    const auto mover = wait_for(run, &is_on_its_way);
    ASSERT_TRUE(mover);
    run.world().crash(*mover);
    EXPECT_TRUE(run.world().run_until([&] { return run.moves() == 2; }, 300s));
    run.run(3600s);
    EXPECT_EQ(run.verdict(train_single(options.config)), "");
}

// Its links stay up, and no detector watches who has no slot.
TEST(Moves, AMoverThatFreezesOnItsWayIsNotTheLastToMove) {
    const RunWorldOptions options = lopsided();
    RunWorld run(options);
    ASSERT_TRUE(run.world().run_until([&] { return run.steps().size() == 1; }, 60s));
    slow_down_stage_one(run);
    const auto mover = wait_for(run, [](const SlotInfo* slot) { return slot == nullptr; });
    ASSERT_TRUE(mover);
    run.world().freeze(*mover);
    EXPECT_TRUE(run.world().run_until([&] { return run.moves() == 2; }, 300s));
    run.run(3600s);
    EXPECT_EQ(run.verdict(train_single(options.config)), "");
}

TEST(Moves, AMoverThatIsAskedToLeaveLeavesAndIsNotTheLastToMove) {
    for (const auto moment : {&is_draining, &is_on_its_way}) {
        const RunWorldOptions options = lopsided();
        RunWorld run(options);
        ASSERT_TRUE(run.world().run_until([&] { return run.steps().size() == 1; }, 60s));
        slow_down_stage_one(run);
        const auto mover = wait_for(run, moment);
        ASSERT_TRUE(mover);
        const std::uint32_t moves = run.moves();
        EXPECT_TRUE(leaves(run, *mover));
        EXPECT_TRUE(run.world().run_until([&] { return run.moves() > moves; }, 300s));
        run.run(3600s);
        EXPECT_EQ(run.verdict(train_single(options.config)), "");
    }
}

}  // namespace
}  // namespace sim
