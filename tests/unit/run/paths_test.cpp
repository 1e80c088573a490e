#include "swarm/run/training/paths.hpp"

#include "swarm/run/partition.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace swarm::run {
namespace {

using PathLayers = std::vector<std::uint32_t>;

RunConfig run_with_paths() {
    RunConfig run;  // 6 layers in 3 stages
    run.layers_per_stage = {2, 2, 2};
    run.paths = {{2, 3}, 4, 4};
    return run;
}

/// One letter for each microbatch.
std::string paths_of(const PathsConfig& paths, std::uint64_t step, std::uint32_t microbatches) {
    std::string text;
    for (std::uint32_t m = 0; m < microbatches; ++m) {
        const LayerPath path = path_of(paths, step, MicrobatchId{m});
        text += path == LayerPath::Plain ? '.' : (path == LayerPath::Skipped ? 's' : 't');
    }
    return text;
}

TEST(Paths, AreCountedOverTheMicrobatchesOfAllSteps) {
    EXPECT_EQ(paths_of({{2}, 0, 0}, 0, 8), "........");
    EXPECT_EQ(paths_of({{2}, 4, 0}, 0, 8), "s...s...");
    EXPECT_EQ(paths_of({{2}, 0, 4}, 0, 8), ".t...t..");
    EXPECT_EQ(paths_of({{2}, 4, 4}, 0, 8), "st..st..");
    EXPECT_EQ(paths_of({{2}, 4, 4}, 1, 8), "t..st..s") << "each microbatch takes all paths";
    EXPECT_EQ(paths_of({{2}, 3, 2}, 0, 8), "st.s.tst");
    EXPECT_EQ(paths_of({{2}, 2, 4}, 0, 8), "sts.sts.");
    EXPECT_EQ(paths_of({{2}, 100, 0}, 1, 8), "........");
}

TEST(Paths, HaveAMeanNumberOfPasses) {
    EXPECT_DOUBLE_EQ(mean_passes({{}, 0, 0}), 1);
    EXPECT_DOUBLE_EQ(mean_passes({{2}, 4, 0}), 0.75);
    EXPECT_DOUBLE_EQ(mean_passes({{2}, 0, 4}), 1.25);
    EXPECT_DOUBLE_EQ(mean_passes({{2}, 4, 4}), 1);
    EXPECT_DOUBLE_EQ(mean_passes({{2}, 3, 2}), 1) << "one of three is skipped, one taken twice";
    EXPECT_NEAR(mean_passes({{2}, 1'000'000'000, 0}), 1, 1e-5);
}

TEST(Paths, LieInTheStageThatHasTheirLayers) {
    const RunConfig run = run_with_paths();
    const auto stages = partition(run);
    EXPECT_EQ(detour_of(run, stages[0]).count, 0U);
    EXPECT_EQ(detour_of(run, stages[1]).first, 0U);
    EXPECT_EQ(detour_of(run, stages[1]).count, 2U);
    EXPECT_EQ(detour_of(run, stages[2]).count, 0U);
    RunConfig alone = run;
    alone.stages = 1;
    alone.layers_per_stage.clear();
    EXPECT_EQ(detour_of(alone, partition(alone).front()).first, 2U);
}

TEST(Paths, OrderTheLayersOfAStage) {
    EXPECT_EQ(layers_on(LayerPath::Plain, 4, {1, 2}), (PathLayers{0, 1, 2, 3}));
    EXPECT_EQ(layers_on(LayerPath::Skipped, 4, {1, 2}), (PathLayers{0, 3}));
    EXPECT_EQ(layers_on(LayerPath::Twice, 4, {1, 2}), (PathLayers{0, 1, 2, 1, 2, 3}));
    EXPECT_EQ(layers_on(LayerPath::Skipped, 2, {0, 2}), PathLayers());
    EXPECT_EQ(layers_on(LayerPath::Twice, 2, {}), (PathLayers{0, 1})) << "they lie elsewhere";
}

TEST(Paths, HaveOneLineForEachFault) {
    struct Bad {
        const char* text;
        std::function<void(RunConfig&)> spoil;
    };

    const Bad runs[] = {
        {"paths.layers must be consecutive",
         [](RunConfig& run) {
             run.paths.layers = {2, 4};
         }},
        {"paths.layers must be consecutive",
         [](RunConfig& run) {
             run.paths.layers = {3, 2};
         }},
        {"paths.layers must be consecutive", [](RunConfig& run) { run.paths.layers = {6}; }},
        {"paths.layers must name layers", [](RunConfig& run) { run.paths.layers.clear(); }},
        {"paths.layers must be empty for the oracle",
         [](RunConfig& run) {
             run.model = *named_model("oracle");
             run.model.layers = 6;
         }},
        {"paths.layers must be empty for the oracle",
         [](RunConfig& run) {
             run.model.kind = ModelKind::Mixtral;
             run.model.experts = 4;
         }},
        {"paths.layers must be empty in mode sparse",
         [](RunConfig& run) { run.mode = SyncMode::Sparse; }},
        {"paths.layers must be empty where run.split is measured",
         [](RunConfig& run) { run.split = SplitMode::Measured; }},
        {"paths.layers must lie in one stage",
         [](RunConfig& run) {
             run.layers_per_stage = {3, 2, 1};
         }},
        {"paths.skip_every must not be 1", [](RunConfig& run) { run.paths.skip_every = 1; }},
        {"paths.twice_every is 1, must be larger",
         [](RunConfig& run) { run.paths.twice_every = 1; }},
        {"paths.twice_every is 2, must be larger", [](RunConfig& run) {
             run.paths.skip_every = 2;
             run.paths.twice_every = 2;
         }}};
    EXPECT_TRUE(check_run(run_with_paths()).has_value())
        << check_run(run_with_paths()).error().detail;
    for (const Bad& bad : runs) {
        RunConfig run = run_with_paths();
        bad.spoil(run);
        const auto checked = check_run(run);
        ASSERT_TRUE(checked.has_error()) << bad.text;
        EXPECT_TRUE(checked.error().detail.starts_with(bad.text)) << checked.error().detail;
    }
}

TEST(Paths, AreNotInTheTextOfARunWithoutThem) {
    EXPECT_EQ(to_toml(RunConfig{}).find("paths"), std::string::npos);
    const auto back = parse_run(to_toml(run_with_paths()), "run.toml");
    ASSERT_TRUE(back.has_value()) << back.error().detail;
    EXPECT_EQ(back->paths.layers, (PathLayers{2, 3}));
    EXPECT_EQ(back->paths.skip_every, 4U);
    EXPECT_EQ(back->paths.twice_every, 4U);
}

}  // namespace
}  // namespace swarm::run
