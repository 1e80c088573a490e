// A run that begins with the weights of a model, and not with those of its seed. Its joiners get
// them from the coordinator, and it goes back to them where no later state is left.
#include "story.hpp"
#include "tests/simulation/runs.hpp"

namespace sim {
namespace {

/// Layers are large enough to begin as noise, so another seed has other weights.
RunWorldOptions options_of(std::uint64_t steps) {
    RunWorldOptions options = story_options(2, 2, steps);
    options.config.model.width = 40;
    swarm::run::RunConfig other = options.config;
    other.seed = 99;
    options.begin = state_after(other, 0);
    return options;
}

Reference one_process(const RunWorldOptions& options) {
    stages::SingleRun run(options.config, &stages::make_oracle_compute, {});
    std::vector<stages::StageState> states;
    const auto layouts = swarm::run::partition(options.config);
    for (std::size_t s = 0; s < layouts.size(); ++s) {
        states.push_back(*stages::StageState::from_chunks(layouts[s], {}, options.begin->chunks[s])
        );
    }
    run.resume(std::move(states));
    Reference reference;
    while (run.version().step < options.config.steps) {
        reference.losses.push_back(run.step()->loss);
    }
    reference.weights_sha256 = run.weights_sha256();
    return reference;
}

void expect_equal(Story& story, const RunWorldOptions& options) {
    story.run().run(600s);
    const Reference reference = one_process(options);
    EXPECT_EQ(story.run().verdict(reference), "") << story.log();
    EXPECT_NE(reference.weights_sha256, train_single(options.config).weights_sha256);
}

bool went_back(const Story& story) {
    return story.log().find("going back") != std::string::npos;
}

TEST(FirstWeights, AreThoseThatTheRunTrains) {
    const RunWorldOptions options = options_of(12);
    Story story(options);
    bool by_seed = false;
    story.on_send<protocol::Assign>([&](PeerId, PeerId, const auto& assign) {
        by_seed = by_seed || assign.from_seed;
    });
    expect_equal(story, options);
    EXPECT_FALSE(by_seed);
    EXPECT_FALSE(went_back(story)) << story.log();
    EXPECT_EQ(story.run().fenced(), 0U) << story.log();
}

TEST(FirstWeights, LateJoinersAndCrashesChangeNothing) {
    const RunWorldOptions options = options_of(12);
    Story story(options);
    ASSERT_TRUE(story.until_sent<protocol::Chunk>([](PeerId, PeerId, const auto&) { return true; })
    );
    const PeerId newcomer = story.run().add_server();
    story.world().crash(kBoss);
    story.world().run_for(1s);
    story.world().restart(kBoss);
    ASSERT_TRUE(story.reach_step(2)) << story.log();
    const PeerId victim = story.members(1).front();
    story.world().crash(victim);
    story.world().run_for(3s);
    story.world().restart(victim);
    ASSERT_TRUE(story.until_has_slot(newcomer)) << story.log();
    expect_equal(story, options);
}

/// The peers of a stage are lost before any checkpoint, and come back without a state.
TEST(FirstWeights, AreWhatIsLeftWhereAStageIsLost) {
    const RunWorldOptions options = options_of(12);
    Story story(options);
    ASSERT_TRUE(story.reach_step(3)) << story.log();
    const std::vector<PeerId> lost = story.members(1);
    for (const PeerId id : lost) {
        story.world().crash(id);
    }
    story.world().run_for(3s);
    for (const PeerId id : lost) {
        story.world().restart(id);
    }
    expect_equal(story, options);
    EXPECT_TRUE(went_back(story)) << story.log();
}

/// Nobody joins for longer than a run with a lost stage waits: there is nothing to go back to.
TEST(FirstWeights, AreStillTheFirstVersionWhenPeersComeLate) {
    RunWorldOptions options = options_of(4);
    options.peers = 0;
    Story story(options);
    story.world().run_for(60s);
    for (int i = 0; i < 4; ++i) {
        story.run().add_server();
    }
    ASSERT_TRUE(story.reach_step(1)) << story.log();
    EXPECT_EQ(story.boss().version.gen, 0U);
    expect_equal(story, options);
    EXPECT_FALSE(went_back(story)) << story.log();
}

}  // namespace
}  // namespace sim
