// `min_holders`: no step is committed while a stage has fewer peers that could hold it.
#include "tests/simulation/story.hpp"

#include <gtest/gtest.h>

namespace sim {
namespace {

RunWorldOptions two_hold(std::uint32_t stages, std::uint32_t replicas) {
    RunWorldOptions options = story_options(stages, replicas);
    options.config.min_holders = 2;
    return options;
}

TEST(MinHolders, ALoneReplicaDoesNotCommitUntilAnotherHasJoined) {
    Story story(two_hold(2, 2));
    ASSERT_TRUE(story.reach_step(3));
    const PeerId victim = story.members(1).front();
    story.world().crash(victim);
    ASSERT_TRUE(story.until_fenced(1));
    const std::uint64_t step = story.boss().version.step;
    story.world().run_for(20s);
    EXPECT_EQ(story.boss().version.step, step);
    EXPECT_TRUE(story.run().coordinator_role()->step().waits_for_holders());
    EXPECT_NE(story.log().find("(min_holders)"), std::string::npos) << story.log();
    const PeerId newcomer = story.run().add_server();  // no commit comes to take a snapshot at
    const swarm::TimePoint came_at = story.world().now();
    ASSERT_TRUE(story.until_has_slot(newcomer)) << story.log();
    EXPECT_LT(story.world().now() - came_at, 3s) << "it asks for its state once more, not late";
    EXPECT_EQ(story.boss().version.step, step);
    EXPECT_EQ(story.stage_of(newcomer), 1U);
    story.expect_equal_to_one_process();
}

TEST(MinHolders, TheDeathOfOneHolderAfterTheDecisionLosesNothing) {
    Story story(two_hold(2, 2));
    ASSERT_TRUE(story.reach_step(3));
    std::uint64_t step = 0;
    ASSERT_TRUE(story.until_sent<protocol::Commit>([&](PeerId, PeerId, const auto& commit) {
        step = commit.version.step;
        return true;
    }));
    for (const std::uint32_t stage : {0U, 1U}) {
        ASSERT_EQ(story.members(stage).size(), 2U);
        const PeerId victim = story.members(stage).front();
        story.world().crash(victim);
        story.world().run_for(100ms);
        story.world().restart(victim);
    }
    story.expect_equal_to_one_process();
    EXPECT_GT(story.boss().version.step, step);
}

TEST(MinHolders, ARunDoesNotCommitItsFirstStepWithTooFew) {
    Story story(two_hold(2, 1));
    story.world().run_for(30s);
    EXPECT_EQ(story.boss().version.step, 0U);
    EXPECT_TRUE(story.run().coordinator_role()->step().waits_for_holders());
    story.run().add_server();
    story.world().run_for(10s);
    EXPECT_EQ(story.boss().version.step, 0U);
    story.run().add_server();
    story.expect_equal_to_one_process();
}

/// Freezes one of a stage of two while the other one has reduced, for less than a death takes.
/// True when the step was committed meanwhile.
bool commits_without_the_frozen(Story& story) {
    EXPECT_TRUE(story.reach_step(3));
    PeerId frozen;
    EXPECT_TRUE(story.until_sent<protocol::Reduced>([&](PeerId from, PeerId, const auto&) {
        frozen = story.replica_of(from);
        return story.stage_of(from) == 1;
    }));
    const std::uint64_t step = story.boss().version.step;
    story.world().freeze(frozen);
    story.world().run_for(5500ms);
    const bool committed = story.boss().version.step > step;
    EXPECT_EQ(story.run().fenced(), committed ? 1U : 0U) << story.log();
    story.world().thaw(frozen);
    return committed;
}

TEST(MinHolders, AFrozenHolderIsNeededByAStageOfTwo) {
    Story story(two_hold(2, 2));
    EXPECT_FALSE(commits_without_the_frozen(story)) << story.log();
    story.expect_equal_to_one_process();
}

TEST(MinHolders, WhereOneIsEnoughASilentReplicaIsNotWaitedFor) {
    Story story(story_options(2, 2));
    EXPECT_TRUE(commits_without_the_frozen(story)) << story.log();
    story.expect_equal_to_one_process();
}

}  // namespace
}  // namespace sim
