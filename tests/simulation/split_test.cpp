// A run whose layers are cut into stages anew, at a checkpoint, by a coordinator that begins anew.
// The state that peers hold of the old stages counts for nothing.
#include "story.hpp"
#include "tests/simulation/runs.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <vector>

namespace sim {
namespace {

using Split = std::vector<std::uint32_t>;

/// Two stages of two peers, three layers each.
RunWorldOptions six_layers(std::uint64_t steps) {
    RunWorldOptions options = story_options(2, 2, steps);
    options.config.model.layers = 6;
    options.config.split = swarm::run::SplitMode::Measured;
    return options;
}

void slow_down(Story& story, std::uint32_t stage) {
    for (const PeerId id : story.members(stage)) {
        story.world().set_speed(id, 20.0 / 3);
    }
}

/// Begins the coordinator's process anew, with other stages and the state after `step` steps.
void restart_cut(Story& story, const RunWorldOptions& options, Split split, std::uint64_t step) {
    swarm::run::RunConfig config = options.config;
    config.layers_per_stage = split;
    story.run().cut_as(std::move(split));
    story.run().resume_from(state_after(config, step));
    story.world().restart(kBoss);
}

bool until_cut(Story& story, swarm::Duration limit) {
    return story.world().run_until(
        [&] { return !story.run().coordinator_role()->cut_anew().empty(); }, limit
    );
}

/// The mean time of the steps from `first` on, without the step that waited for the cut.
double mean_step_s(const RunWorld& run, std::size_t first, std::size_t count) {
    double sum = 0;
    for (std::size_t i = first; i < first + count; ++i) {
        sum += std::chrono::duration<double>(run.steps().at(i).took).count();
    }
    return sum / static_cast<double>(count);
}

TEST(Split, IsCutAnewWhereAStageHasBecomeSlow) {
    const RunWorldOptions options = six_layers(60);
    Story story(options);
    ASSERT_TRUE(story.reach_step(3)) << story.log();
    slow_down(story, 1);
    ASSERT_TRUE(until_cut(story, 300s)) << story.log();
    const Split split = story.run().coordinator_role()->cut_anew();
    EXPECT_EQ(split, (Split{5, 1}));
    const std::uint64_t step = story.boss().version.step;
    ASSERT_EQ(story.run().steps().size(), step) << "nothing was begun after the checkpoint";
    std::map<PeerId, std::uint32_t> stages;
    for (const std::uint32_t stage : {0U, 1U}) {
        for (const PeerId id : story.members(stage)) {
            stages[id] = stage;
        }
    }
    restart_cut(story, options, split, step);
    ASSERT_TRUE(story.reach_step(step + 8)) << story.log();
    EXPECT_EQ(story.boss().version.gen, 1U);
    for (const auto& [id, stage] : stages) {
        EXPECT_EQ(story.stage_of(id), stage) << "the split was chosen for the peers of each stage";
    }
    const double before_s = mean_step_s(story.run(), step - 4, 4);
    const double after_s = mean_step_s(story.run(), step + 2, 4);
    std::printf("step: %.2f s before, %.2f s after\n", before_s, after_s);
    EXPECT_LT(after_s, 0.7 * before_s);
    story.expect_equal_to_one_process();
    EXPECT_EQ(story.run().fenced(), 0U) << story.log();
}

/// The held step goes on, and once the evidence is there again the run is cut after all.
TEST(Split, WaitsForTheNextCheckpointWhereADonorDies) {
    const RunWorldOptions options = six_layers(60);
    Story story(options);
    ASSERT_TRUE(story.reach_step(3)) << story.log();
    slow_down(story, 1);
    PeerId donor;
    ASSERT_TRUE(story.until_sent<protocol::Fetch>(
        [&](PeerId from, PeerId to, const auto&) {
            donor = to;
            return from == kBoss;
        },
        300s
    )) << story.log();
    const std::uint64_t step = story.boss().version.step;
    story.world().crash(donor);
    ASSERT_TRUE(story.reach_step(step + 1)) << story.log();
    EXPECT_NE(story.log().find("no checkpoint came about"), std::string::npos) << story.log();
    story.world().restart(donor);
    ASSERT_TRUE(until_cut(story, 300s)) << story.log();
    const Split split = story.run().coordinator_role()->cut_anew();
    restart_cut(story, options, split, story.boss().version.step);
    story.expect_equal_to_one_process();
}

/// A person edits run.toml between two processes, and the peers have not noticed.
TEST(Split, AnotherRunFileMakesAllPeersBeginAnew) {
    RunWorldOptions options = six_layers(12);
    options.config.split = swarm::run::SplitMode::Fixed;
    Story story(options);
    ASSERT_TRUE(story.reach_step(5)) << story.log();
    restart_cut(story, options, {2, 4}, 3);
    story.expect_equal_to_one_process();
    EXPECT_NE(story.log().find("stages of 2, 4 layers instead of 3, 3"), std::string::npos);
    EXPECT_EQ(story.boss().version.gen, 1U);
}

}  // namespace
}  // namespace sim
