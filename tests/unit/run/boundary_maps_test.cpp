#include "swarm/run/training/boundary_maps.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace swarm::run {
namespace {

RunConfig narrow_run() {
    RunConfig run;
    run.model.bottleneck = 24;
    return run;
}

TEST(BoundaryMaps, StandOnBothSidesOfEachBoundary) {
    const RunConfig run = narrow_run();
    ASSERT_TRUE(check_run(run).has_value());
    EXPECT_FALSE(map_up(run, {0}).has_value());
    EXPECT_EQ(map_down(run, {0}), (TensorSpec{"boundary.0.down", {24, run.model.width}}));
    EXPECT_EQ(map_up(run, {1}), (TensorSpec{"boundary.0.up", {run.model.width, 24}}));
    EXPECT_EQ(map_down(run, {1})->name, "boundary.1.down");
    EXPECT_EQ(map_up(run, {2})->name, "boundary.1.up");
    EXPECT_FALSE(map_down(run, {2}).has_value());
    EXPECT_EQ(activation_width(run, {0}), 24U);
}

TEST(BoundaryMaps, AreNotThereWithoutABottleneck) {
    const RunConfig run;
    EXPECT_FALSE(map_down(run, {0}).has_value());
    EXPECT_FALSE(map_up(run, {1}).has_value());
    EXPECT_EQ(activation_width(run, {0}), run.model.width);
}

TEST(BoundaryMaps, WhatDoesNotFitIsRefused) {
    const std::function<void(RunConfig&)> spoils[] = {
        [](RunConfig& run) { run.model.bottleneck = run.model.width; },
        [](RunConfig& run) {
            run.model = *named_model("oracle");
            run.model.bottleneck = 24;
        },
        [](RunConfig& run) { run.stages = 1; },
        [](RunConfig& run) { run.split = SplitMode::Measured; },
        [](RunConfig& run) { run.mode = SyncMode::Sparse; },
        [](RunConfig& run) { run.init = "base"; },
        [](RunConfig& run) { run.init_sha256 = std::string(64, 'a'); },
        [](RunConfig& run) { run.lora.rank = 4; },
    };
    for (const auto& spoil : spoils) {
        RunConfig run = narrow_run();
        spoil(run);
        const auto checked = check_run(run);
        ASSERT_TRUE(checked.has_error()) << to_toml(run);
        EXPECT_TRUE(checked.error().detail.starts_with("model.bottleneck "))
            << checked.error().detail;
    }
}

}  // namespace
}  // namespace swarm::run
