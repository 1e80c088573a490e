// The stages that the coordinator gives to newcomers.
#include "tests/simulation/story.hpp"

#include <gtest/gtest.h>

namespace sim {
namespace {

RunWorldOptions long_run() {
    RunWorldOptions options;
    options.config = oracle_config(2, 3, 400);
    options.peers = 4;
    return options;
}

TEST(Placement, SpreadsTheFirstPeersEvenly) {
    RunWorld run(long_run());
    run.world().run_until([&] { return run.steps().size() == 1; }, 60s);
    EXPECT_EQ(
        run.coordinator_role()->context().roster.peers_per_stage(),
        (std::vector<std::uint32_t>{2, 2})
    );
}

TEST(Placement, AFencedPeerReturnsToTheStageThatMissesIt) {
    RunWorld run(long_run());
    run.world().run_until([&] { return run.steps().size() == 1; }, 60s);
    run.world().freeze(peer(4));
    run.world().run_for(8s);
    ASSERT_EQ(run.fenced(), 1U);
    run.world().thaw(peer(4));
    run.world().run_for(10s);
    EXPECT_EQ(
        run.coordinator_role()->context().roster.peers_per_stage(),
        (std::vector<std::uint32_t>{2, 2})
    );
}

TEST(Placement, AJoinerReplacesAPeerWhoseDeathIsNotCertainYet) {
    RunWorld run(long_run());
    run.world().run_until([&] { return run.steps().size() == 1; }, 60s);
    const swarm::StageIndex stage = run.server(peer(2))->context().stage();
    run.world().crash(peer(2));
    run.world().run_for(500ms);
    const PeerId joiner = run.add_server();
    run.world().run_for(10s);
    EXPECT_EQ(run.server(joiner)->context().stage(), stage);
}

// The JOIN of the peer would name the version before; in another stage the peer would throw away
// the newer state.
TEST(Placement, APeerThatStillAppliesACommitKeepsItsStageWhenTheCoordinatorRestarts) {
    Story story(story_options(2, 1, 8));
    ASSERT_TRUE(story.reach_step(2));
    const std::uint32_t stage = story.stage_of(peer(1));
    ASSERT_TRUE(story.until_sent<protocol::Commit>([](PeerId, PeerId to, const auto&) {
        return to == peer(1);
    }));
    story.world().stall_jobs(peer(1), 12s);
    story.world().run_for(200ms);
    story.world().crash(RunWorld::coordinator());
    story.world().run_for(500ms);
    story.world().restart(RunWorld::coordinator());
    bool reassigned = false;
    story.on_receive<protocol::Assign>([&](PeerId, PeerId to, const auto&) {
        reassigned = reassigned || to == peer(1);
    });
    story.expect_equal_to_one_process();
    EXPECT_FALSE(reassigned) << story.log();
    EXPECT_EQ(story.stage_of(peer(1)), stage);
}

}  // namespace
}  // namespace sim
