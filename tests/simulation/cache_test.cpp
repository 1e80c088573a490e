// A volunteer with a cache that is killed and comes back: what it must download, and what not.
#include "tests/simulation/story.hpp"

#include <gtest/gtest.h>

namespace sim {
namespace {

RunWorldOptions with_cache(std::uint32_t stages, std::uint32_t replicas) {
    RunWorldOptions options = story_options(stages, replicas);
    options.servers_keep_state = true;
    return options;
}

class CacheStory {
 public:
    explicit CacheStory(RunWorldOptions options) : story(std::move(options)) {
        story.on_receive<protocol::Chunk>([this](PeerId, PeerId to, const auto&) { ++chunks[to]; });
    }

    /// Kills the peer when its cache holds the peer's own version, and that is the run's.
    void kill_when_kept(PeerId victim) {
        ASSERT_TRUE(story.world().run_until(
            [&] {
                const auto& files = story.world().disk(victim).files();
                const auto found = files.find(stages::StateCache::kFileName);
                if (found == files.end()) {
                    return false;
                }
                const auto step = static_cast<std::uint64_t>(found->second.at(8 + 8 * 5));
                return step > 0 && step == story.boss().version.step;
            },
            60s
        ));
        killed_at = story.boss().version.step;
        story.world().crash(victim);
        chunks.clear();
    }

    Story story;
    std::map<PeerId, std::uint32_t> chunks;  // by receiver
    std::uint64_t killed_at = 0;
};

TEST(Cache, APeerThatRestartsAtTheCurrentVersionDownloadsNothing) {
    CacheStory bed(with_cache(2, 1));
    ASSERT_TRUE(bed.story.reach_step(2));
    const PeerId victim = bed.story.members(1).front();
    bed.kill_when_kept(victim);
    bed.story.world().run_for(3s);  // no other peer is there: the run waits at this version
    EXPECT_EQ(bed.story.boss().version.step, bed.killed_at);
    bed.story.world().restart(victim);
    bed.story.expect_equal_to_one_process();
    EXPECT_EQ(bed.chunks[victim], 0U) << bed.story.log();
}

TEST(Cache, AStaleCacheIsReplacedByADownload) {
    CacheStory bed(with_cache(2, 2));
    ASSERT_TRUE(bed.story.reach_step(2));
    const PeerId victim = bed.story.members(1).front();
    bed.kill_when_kept(victim);
    ASSERT_TRUE(bed.story.reach_step(bed.killed_at + 4));
    bed.story.world().restart(victim);
    ASSERT_TRUE(bed.story.until_has_slot(victim)) << bed.story.log();
    EXPECT_GT(bed.chunks[victim], 0U);
    bed.story.expect_equal_to_one_process();
}

TEST(Cache, ACacheThatIsOneStepBehindIsReplacedToo) {
    CacheStory bed(with_cache(2, 2));
    ASSERT_TRUE(bed.story.reach_step(2));
    const PeerId victim = bed.story.members(1).front();
    bed.kill_when_kept(victim);
    ASSERT_TRUE(bed.story.world().run_until(
        [&] { return bed.story.boss().version.step == bed.killed_at + 1; }, 60s
    ));
    bed.story.world().restart(victim);
    bed.story.expect_equal_to_one_process();
}

TEST(Cache, AVolunteerKilledAgainAndAgainLeavesTheRunEqual) {
    CacheStory bed(with_cache(2, 2));
    ASSERT_TRUE(bed.story.reach_step(1));
    const PeerId victim = bed.story.members(1).front();
    for (std::uint64_t n = 0; n < 12 && !bed.story.run().finished(); ++n) {
        bed.story.world().run_for(std::chrono::milliseconds(150 + 130 * n));
        bed.story.world().crash(victim);
        bed.story.world().run_for(std::chrono::milliseconds(70 * n));
        bed.story.world().restart(victim);
    }
    bed.story.expect_equal_to_one_process();
}

TEST(Cache, OfAnotherRunIsNotUsed) {
    const RunWorldOptions options = with_cache(1, 1);
    const PeerId self = peer(1);
    std::vector<node::Payload> chunks;
    const auto layout = swarm::run::partition(options.config).front();
    const auto state = stages::StageState::from_seed(options.config, layout);
    for (std::uint32_t i = 0; i < state.chunk_count(); ++i) {
        chunks.push_back(state.chunk(i));
    }
    stages::StageServer::Options server;
    server.self = self;
    server.cached = stages::CachedState{
        peer(77), {0, 3}, {0}, swarm::run::to_toml(options.config), std::move(chunks)};
    server.make_compute = [](const auto& config, const auto& at) {
        return swarm::Result<std::unique_ptr<stages::StageCompute>>(
            stages::make_oracle_compute(config, at)
        );
    };
    stages::StageServer role(std::move(server));
    node::Outbox out;
    role.on(node::Woke{}, {}, out);
    role.on(node::LinkUp{RunWorld::coordinator(), Lane::Control, {5}, true}, {}, out);
    bool asked = false;
    for (const node::Action& action : out.actions) {
        if (const auto* const send = std::get_if<node::Send>(&action)) {
            const auto* const join = std::get_if<protocol::Join>(&send->message.body);
            asked = asked || (join != nullptr && !join->stage);
        }
    }
    EXPECT_TRUE(asked) << "as a newcomer";
    EXPECT_FALSE(role.context().worker);
}

}  // namespace
}  // namespace sim
