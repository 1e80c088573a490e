// Checkpoints whose donors go.
#include "story.hpp"
#include "tests/simulation/runs.hpp"

#include <map>
#include <set>
#include <vector>

namespace sim {
namespace {

TEST(Checkpoints, AFailedCheckpointDoesNotEndLaterOnes) {
    RunWorldOptions options = story_options(2, 2);
    options.config.checkpoint_every = 4;
    Story story(options);
    std::set<std::uint64_t> written;
    story.run().observe_reports([&](PeerId, const node::Report& report) {
        if (const auto* const checkpoint = std::get_if<node::CheckpointWritten>(&report)) {
            written.insert(checkpoint->version.step);
        }
    });
    PeerId donor;
    ASSERT_TRUE(story.until_sent<protocol::Fetch>([&](PeerId from, PeerId to, const auto&) {
        donor = to;
        return from == kBoss;
    }));
    story.world().crash(donor);
    ASSERT_TRUE(story.reach_step(10)) << story.log();
    EXPECT_EQ(written, (std::set<std::uint64_t>{8})) << story.log();
    story.expect_equal_to_one_process();
}

// The snapshot is frozen at the commit that lets the leaver go.
TEST(Snapshots, AJoinerIsNotSentToAMemberThatLeavesWithTheCommit) {
    Story story(story_options(2, 2));
    ASSERT_TRUE(story.reach_step(2));
    const PeerId joiner = story.run().add_server();
    const auto& roster = story.boss().roster;
    const auto observes = [&] {
        const auto* const slot = roster.find_peer(joiner);
        return slot != nullptr && slot->standing == protocol::Standing::Observer;
    };
    ASSERT_TRUE(story.world().run_until(observes, 10s));
    const swarm::StageIndex stage = roster.find_peer(joiner)->stage;
    const swarm::SlotId leaver = roster.members(stage).front();  // the first member is asked first
    story.world().ask(story.peer_of(leaver), node::Asked{node::DrainRequest{}});
    const auto leaves = [&] {
        const auto* const slot = roster.find(leaver);
        return slot != nullptr && slot->standing == protocol::Standing::Draining;
    };
    ASSERT_TRUE(story.world().run_until(leaves, 1s)) << story.log();
    std::optional<swarm::SlotId> donor;
    ASSERT_TRUE(story.until_sent<protocol::Commit>([&](PeerId, PeerId, const auto& commit) {
        for (const protocol::SnapshotOrder& order : commit.snapshots) {
            donor = order.receiver == joiner ? order.donor : donor;
        }
        return donor.has_value();
    })) << story.log();
    EXPECT_EQ(roster.find(leaver), nullptr);
    EXPECT_NE(donor, leaver);
    story.expect_equal_to_one_process();
}

/// Six replicas and two newcomers: each newcomer has four donors, and the two begin with different
/// ones.
TEST(Snapshots, JoinersHaveFourDonorsEach) {
    Story story(story_options(1, 6));
    ASSERT_TRUE(story.reach_step(2));
    std::map<PeerId, std::vector<swarm::SlotId>> donors;
    donors[story.run().add_server()];
    donors[story.run().add_server()];
    ASSERT_TRUE(story.until_sent<protocol::Commit>([&](PeerId, PeerId, const auto& commit) {
        for (auto& [joiner, slots] : donors) {
            slots.clear();
            for (const protocol::SnapshotOrder& order : commit.snapshots) {
                if (order.receiver == joiner) {
                    slots.push_back(order.donor);
                }
            }
        }
        return !donors.begin()->second.empty() && !donors.rbegin()->second.empty();
    })) << story.log();
    for (const auto& [joiner, slots] : donors) {
        EXPECT_EQ(std::set(slots.begin(), slots.end()).size(), 4U);
    }
    EXPECT_NE(donors.begin()->second.front(), donors.rbegin()->second.front());
    story.expect_equal_to_one_process();
}

}  // namespace
}  // namespace sim
