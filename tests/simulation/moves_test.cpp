// Peers that change their stage while the run goes on.
#include "sim/run/run_world.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

namespace sim {
namespace {

using namespace std::chrono_literals;
using swarm::protocol::SlotInfo;
using swarm::protocol::Standing;

/// Stage 1 is three times as slow as stage 0 can feed it: 2 + 4 peers would suit it better.
RunWorldOptions lopsided() {
    RunWorldOptions options;
    options.config = oracle_config(2, 24, 60);
    options.config.rebalancer = router::RebalancerName::find("swarm-alg2").value();
    options.config.rebalance_every_s = 20;
    options.peers = 6;
    options.peer.device.units_per_s = 20;
    return options;
}

/// One step is done; stage 1 is slow from then on.
class Moves : public ::testing::Test {
 protected:
    void SetUp() override { begin(); }

    void begin() {
        run_ = std::make_unique<RunWorld>(options_);
        ASSERT_TRUE(world().run_until([&] { return run_->steps().size() == 1; }, 60s));
        for (std::uint64_t n = 1; n <= 6; ++n) {
            if (run_->server(peer(n))->context().stage().value == 1) {
                world().set_speed(peer(n), 5);
            }
        }
    }

    /// Waits until one of the first six peers has a slot for which `is_it` holds, or has none.
    template <class Matches>
    std::optional<PeerId> wait_for(Matches&& is_it) {
        std::optional<PeerId> found;
        const auto look = [&] {
            for (std::uint64_t n = 1; n <= 6 && !found; ++n) {
                if (is_it(run_->coordinator_role()->context().roster.find_peer(peer(n)))) {
                    found = peer(n);
                }
            }
            return found.has_value();
        };
        world().run_until(look, 300s);
        return found;
    }

    bool leaves(PeerId mover) {
        bool left = false;
        run_->observe_reports([&](PeerId from, const node::Report& report) {
            left = left || (from == mover && std::holds_alternative<node::ServerDone>(report));
        });
        world().ask(mover, node::Asked{node::DrainRequest{}});
        world().run_until([&] { return left; }, 30s);
        run_->observe_reports({});
        return left;
    }

    bool moves_again(std::uint32_t moves) {
        return world().run_until([&] { return run_->moves() > moves; }, 300s);
    }

    void ends_equal_to_one_process() {
        run_->run(3600s);
        EXPECT_EQ(run_->verdict(train_single(options_.config)), "");
    }

    World& world() { return run_->world(); }

    RunWorldOptions options_ = lopsided();
    std::unique_ptr<RunWorld> run_;
};

bool is_draining(const SlotInfo* slot) {
    return slot != nullptr && slot->standing == Standing::Draining;
}

bool is_on_its_way(const SlotInfo* slot) {
    return slot == nullptr || slot->standing == Standing::Observer;
}

TEST_F(Moves, APeerMovesToTheSlowStageAndTheRunStillEqualsOneProcess) {
    const auto stage_one_has_more = [&] {
        return run_->coordinator_role()->context().roster.members({1}).size() > 3;
    };
    EXPECT_TRUE(world().run_until(stage_one_has_more, 300s));
    ends_equal_to_one_process();
    EXPECT_EQ(run_->fenced(), 0U);
}

TEST_F(Moves, AMoverThatDiesOnItsWayCostsNothing) {
    const auto mover = wait_for(&is_on_its_way);
    ASSERT_TRUE(mover);
    world().crash(*mover);
    world().run_for(30s);
    world().restart(*mover);
    ends_equal_to_one_process();
}

TEST_F(Moves, AMoverThatDiesOnItsWayForGoodIsNotTheLastToMove) {
    const auto mover = wait_for(&is_on_its_way);
    ASSERT_TRUE(mover);
    world().crash(*mover);
    EXPECT_TRUE(moves_again(1));
    ends_equal_to_one_process();
}

// The links of the mover stay up, and no detector watches a peer that has no slot.
TEST_F(Moves, AMoverThatFreezesOnItsWayIsNotTheLastToMove) {
    const auto mover = wait_for([](const SlotInfo* slot) { return slot == nullptr; });
    ASSERT_TRUE(mover);
    world().freeze(*mover);
    EXPECT_TRUE(moves_again(1));
    ends_equal_to_one_process();
}

// The other peers of the stage die when the move is decided, so that no peer can know it: the mover
// has the only copy.
TEST_F(Moves, AMoverReturnsToAStageThatNoOtherPeerHolds) {
    ASSERT_TRUE(wait_for(&is_draining));
    const auto& boss = *run_->coordinator_role();
    const auto deciding = [&] {
        return boss.step().phase() == swarm::coordinator::StepMachine::Phase::Deciding;
    };
    ASSERT_TRUE(world().run_until(deciding, 60s));
    const auto mover = wait_for(&is_draining);
    ASSERT_TRUE(mover);
    const auto& roster = boss.context().roster;
    std::vector<PeerId> others;
    for (const swarm::SlotId slot : roster.members(roster.find_peer(*mover)->stage)) {
        if (const PeerId other = roster.find(slot)->peer; other != *mover) {
            others.push_back(other);
        }
    }
    for (const PeerId other : others) {
        world().crash(other);
    }
    const std::size_t steps = run_->steps().size();
    EXPECT_TRUE(world().run_until([&] { return run_->moves() == 1; }, 10s));
    EXPECT_TRUE(world().run_until([&] { return run_->steps().size() > steps + 3; }, 120s))
        << "its stage needs it";
    for (const PeerId other : others) {
        world().restart(other);
    }
    ends_equal_to_one_process();
}

TEST_F(Moves, AMoverThatIsAskedToLeaveLeavesAndIsNotTheLastToMove) {
    for (const auto moment : {&is_draining, &is_on_its_way}) {
        begin();
        const auto mover = wait_for(moment);
        ASSERT_TRUE(mover);
        const std::uint32_t moves = run_->moves();
        EXPECT_TRUE(leaves(*mover));
        EXPECT_TRUE(moves_again(moves));
        ends_equal_to_one_process();
    }
}

}  // namespace
}  // namespace sim
