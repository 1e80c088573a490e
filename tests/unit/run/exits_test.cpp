#include "swarm/run/training/exits.hpp"

#include "swarm/run/layer_work.hpp"
#include "swarm/run/memory_plan.hpp"
#include "swarm/run/training/trained_part.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace swarm::run {
namespace {

/// Six layers in three stages, with exits behind the first stage and within the second one.
RunConfig run_with_exits() {
    RunConfig run;
    run.layers_per_stage = {2, 2, 2};
    run.train.freeze = {"embed", "head"};
    run.train.exits = {2, 3};
    return run;
}

std::vector<std::string> frozen_names(const StageLayout& stage) {
    std::vector<std::string> names;
    for (const TensorSpec& tensor : stage.frozen) {
        names.push_back(tensor.name);
    }
    return names;
}

using Names = std::vector<std::string>;

TEST(Exits, BelongToTheStageOfTheLayerBeforeThem) {
    RunConfig run = run_with_exits();
    run.train.exits = {2, 3, 4, 5};
    ASSERT_TRUE(check_run(run).has_value());
    const auto stages = partition(run);
    EXPECT_EQ(exits_of(run, stages[0]), std::vector<std::uint32_t>{2});
    EXPECT_EQ(exits_of(run, stages[1]), (std::vector<std::uint32_t>{3, 4}));
    EXPECT_EQ(exits_of(run, stages[2]), std::vector<std::uint32_t>{5});
}

TEST(Exits, StagesBelowTheLastOneHaveACopyOfTheHeadWhereTheyNeedIt) {
    RunConfig run = run_with_exits();
    const auto stages = partition(run);
    EXPECT_EQ(frozen_names(stages[0]), (Names{"embed.weight", "exit.0.norm", "exit.0.weight"}));
    EXPECT_EQ(frozen_names(stages[1]), (Names{"exit.1.norm", "exit.1.weight"}));
    EXPECT_EQ(frozen_names(stages[2]), (Names{"head.norm", "head.weight"}));
    const std::vector<std::uint32_t> matrix{run.model.vocabulary, run.model.width};
    EXPECT_EQ(stages[1].frozen[0].shape, std::vector<std::uint32_t>{run.model.width});
    EXPECT_EQ(stages[1].frozen[1].shape, matrix);
    EXPECT_EQ(all_tensors(stages[1]).back().spec->name, "exit.1.weight");
    run.train.exits = {5};
    EXPECT_EQ(frozen_names(partition(run)[0]), Names{"embed.weight"});
    EXPECT_EQ(frozen_names(partition(run)[1]), Names{});
    run.stages = 1;
    run.layers_per_stage.clear();
    EXPECT_EQ(frozen_names(partition(run)[0]), (Names{"embed.weight", "head.norm", "head.weight"}));
}

TEST(Exits, HoldTheFinalNorm) {
    RunConfig run = run_with_exits();
    EXPECT_FALSE(is_trained(run, {kHeadNorm, {}}));
    EXPECT_FALSE(is_trained(run, {kHeadTensor, {}}));
    EXPECT_TRUE(is_trained(run, {"layers.2.mlp_norm", {}}));
    run.train.exits.clear();
    EXPECT_TRUE(is_trained(run, {kHeadNorm, {}}));
}

TEST(Exits, ACopyNamesItsOriginal) {
    EXPECT_EQ(original_of("exit.12.norm"), "head.norm");
    EXPECT_EQ(original_of("exit.0.weight"), "head.weight");
    EXPECT_EQ(original_of("layers.3.attn.wq"), "layers.3.attn.wq");
}

TEST(Exits, CountInMemoryAndWork) {
    const RunConfig run = run_with_exits();
    RunConfig without = run;
    without.train.exits.clear();
    const auto bytes = [](const RunConfig& config, std::size_t stage) {
        return MemoryPlan(0, config, partition(config)[stage]).needed_bytes(1);
    };
    const std::uint64_t head = (std::uint64_t{run.model.vocabulary} + 1) * run.model.width;
    EXPECT_EQ(bytes(run, 0), bytes(without, 0) + 4 * head);
    EXPECT_EQ(bytes(run, 1), bytes(without, 1) + 4 * head);
    const auto work = layer_work(run);
    const auto plain = layer_work(without);
    EXPECT_EQ(work[0], plain[0]);
    EXPECT_DOUBLE_EQ(work[1] - plain[1], plain[5] - plain[4]) << "the work of a head";
    EXPECT_DOUBLE_EQ(work[2], work[1]);
    EXPECT_EQ(work[5], plain[5]);
}

TEST(Exits, FitAdaptersAndATiedHead) {
    RunConfig adapters = run_with_exits();
    adapters.train.freeze.clear();
    adapters.lora.rank = 4;
    EXPECT_TRUE(check_run(adapters).has_value());
    RunConfig tied = run_with_exits();
    tied.model.tied_embeddings = true;
    EXPECT_TRUE(check_run(tied).has_value());
    EXPECT_FALSE(tied_stage(tied, {0}).has_value()) << "nothing of the matrix is summed";
}

TEST(Exits, WhatDoesNotFitIsRefused) {
    const std::function<void(RunConfig&)> spoils[] = {
        [](RunConfig& run) {
            run.train.exits = {0, 2};
        },
        [](RunConfig& run) {
            run.train.exits = {3, 2};
        },
        [](RunConfig& run) {
            run.train.exits = {2, 2};
        },
        [](RunConfig& run) {
            run.train.exits = {2, 6};
        },
        [](RunConfig& run) { run.train.freeze = {"embed"}; },
        [](RunConfig& run) { run.train.freeze = {"norms"}; },
        [](RunConfig& run) { run.split = SplitMode::Measured; },
        [](RunConfig& run) { run.model.bottleneck = 24; },
        [](RunConfig& run) { run.loop.every = 10; },
        [](RunConfig& run) {
            run.mode = SyncMode::Sparse;
            run.train.freeze.clear();
        },
        [](RunConfig& run) {
            run.model = *named_model("oracle");
            run.train.freeze.clear();
        },
    };
    for (const auto& spoil : spoils) {
        RunConfig run = run_with_exits();
        spoil(run);
        const auto checked = check_run(run);
        ASSERT_TRUE(checked.has_error()) << to_toml(run);
        EXPECT_TRUE(checked.error().detail.starts_with("train.exits ")) << checked.error().detail;
    }
}

TEST(Exits, AreWrittenWhereTheRunHasSome) {
    EXPECT_EQ(to_toml(RunConfig{}).find("exit"), std::string::npos);
    RunConfig run = run_with_exits();
    run.train.exit_weight = 0.5;
    const auto back = parse_run(to_toml(run), "run.toml");
    ASSERT_TRUE(back.has_value()) << back.error().detail;
    EXPECT_EQ(back->train.exits, run.train.exits);
    EXPECT_EQ(back->train.exit_weight, 0.5);
}

}  // namespace
}  // namespace swarm::run
