#include "swarm/run/training/expert_stages.hpp"

#include "swarm/run/layer_work.hpp"
#include "swarm/run/memory_plan.hpp"
#include "swarm/run/run_file/config_changes.hpp"
#include "swarm/run/training/boundary_maps.hpp"
#include "swarm/run/training/mixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace swarm::run {
namespace {

/// Three layers of five experts, each cut into so many parts.
RunConfig run_in_parts(std::uint32_t parts) {
    RunConfig run;
    run.model.kind = ModelKind::Mixtral;
    run.model.layers = 3;
    run.model.experts = 5;
    run.expert_stages = parts;
    run.stages = 3 * parts;
    return run;
}

std::string fault_of(const RunConfig& run) {
    const auto checked = check_run(run);
    return checked.has_error() ? checked.error().detail : "";
}

/// All trained tensors from the first stage on.
std::vector<std::string> names_of(const RunConfig& run) {
    std::vector<std::string> names;
    for (const StageLayout& stage : partition(run)) {
        for (const PlacedTensor& tensor : all_tensors(stage)) {
            names.push_back(tensor.spec->name);
        }
    }
    return names;
}

TEST(ExpertStages, EachTensorLiesInOneStageInTheOrderOfWholeLayers) {
    for (const std::uint32_t parts : {2U, 3U, 5U}) {
        const RunConfig run = run_in_parts(parts);
        ASSERT_EQ(fault_of(run), "");
        std::set<std::string> found;
        for (const StageLayout& stage : partition(run)) {
            EXPECT_EQ(stage.first_layer, stage.stage.value / parts);
            EXPECT_EQ(stage.layers, 1U);
            EXPECT_EQ(stage.part.index, stage.stage.value % parts);
            for (const TensorSpec& tensor : stage.tensors) {
                EXPECT_TRUE(found.insert(tensor.name).second) << tensor.name;
                EXPECT_TRUE(stage.part.is_first() || stage.has_head || is_expert(tensor.name))
                    << tensor.name;
            }
        }
        EXPECT_EQ(names_of(run), names_of(run_in_parts(1))) << parts;
    }
    RunConfig many = run_in_parts(1);
    many.model.experts = 12;
    const std::vector<std::string> whole = names_of(many);
    many.expert_stages = 4;
    many.stages = 12;
    EXPECT_EQ(names_of(many), whole) << "the order of names is not that of numbers";
}

TEST(ExpertStages, PartsHaveAboutEquallyManyExpertsInTheOrderOfTheirNumbers) {
    ModelConfig model = run_in_parts(1).model;
    EXPECT_EQ(experts_of(model, {}), (ExpertRange{0, 5}));
    EXPECT_EQ(experts_of(model, {0, 2}), (ExpertRange{0, 2}));
    EXPECT_EQ(experts_of(model, {1, 2}), (ExpertRange{2, 5}));
    model.experts = 1024;
    EXPECT_EQ(experts_of(model, {63, 64}), (ExpertRange{1008, 1024}));
    EXPECT_EQ(expert_of("layers.1.moe.12.w1"), 12U);
    EXPECT_EQ(expert_of("layers.1.moe.12.w1.lora_a"), 12U);
    EXPECT_EQ(expert_of("layers.1.moe.router"), std::nullopt);
    EXPECT_EQ(expert_of("layers.1.attn.wq"), std::nullopt);
}

TEST(ExpertStages, SharesCrossWithinALayerAlone) {
    RunConfig run = run_in_parts(2);
    const std::uint32_t width = run.model.width;
    EXPECT_EQ(activation_width(run, {0}), 2 * width + 64);
    EXPECT_EQ(activation_width(run, {1}), width);
    EXPECT_EQ(activation_width(run, {2}), 2 * width + 64);
    EXPECT_EQ(widest_activation(run), 2 * width + 64);
    EXPECT_EQ(activation_shape(run, {2}).back(), 2 * width + 64);
    const std::uint64_t tokens = std::uint64_t{run.batch} * run.model.context;
    const std::uint64_t within = tokens * (2 * width + 64);
    EXPECT_EQ(
        elements_between(run),
        (std::vector<std::uint64_t>{within, tokens * width, within, tokens * width, within})
    );
    run.model.experts = 65;
    EXPECT_EQ(activation_width(run, {0}), 2 * width + 128);
    run.model.width = 72;
    EXPECT_EQ(activation_width(run, {0}), 2 * 128 + 128);
    EXPECT_EQ(activation_width(run, {1}), 72);
    EXPECT_EQ(widest_activation(run_in_parts(1)), width);
}

TEST(ExpertStages, PartsDivideTheWorkAndTheMemoryOfALayer) {
    const RunConfig run = run_in_parts(2);
    const RunConfig whole = run_in_parts(1);
    const auto parts = partition(run);
    const auto layers = partition(whole);
    const std::vector<double> work = layer_work(whole);
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
        const StageLayout& first = parts[2 * layer];
        const StageLayout& second = parts[2 * layer + 1];
        EXPECT_NEAR(work_share(run, first) + work_share(run, second), 1, 1e-12) << layer;
        EXPECT_NEAR(stage_work(whole, layers[layer]), work[layer], 1e-12);
        EXPECT_EQ(first.elements() + second.elements(), layers[layer].elements());
        const auto need = [](const RunConfig& config, const StageLayout& stage) {
            return MemoryPlan(0, config, stage).needed_bytes(1);
        };
        EXPECT_LT(need(run, second), need(whole, layers[layer]));
    }
    // Two of five experts compute a token; a part with two of them has 2/5 of that work.
    const double of_experts = 2.0 * 3 * run.model.width * run.model.ffn_width;
    const double tokens = static_cast<double>(run.batch) * run.model.context;
    EXPECT_NEAR(stage_work(run, parts[1]), 3 * tokens * 2 * of_experts * 3 / 5 / 1e9, 1e-9);
}

TEST(ExpertStages, TheLogOfARunCountsALayerOnce) {
    EXPECT_EQ(
        layers_of(partition(run_in_parts(2))), (std::vector<std::uint32_t>{1, 0, 1, 0, 1, 0})
    );
    EXPECT_EQ(layers_text(4, 1, {1, 2}), "4 (2/2)");
    EXPECT_EQ(layers_text(4, 1), "4");
    EXPECT_EQ(layers_text(4, 3), "4-6");
}

TEST(ExpertStages, WhatDoesNotFitIsRefused) {
    const std::vector<std::pair<std::string, std::function<void(RunConfig&)>>> faults{
        {"run.stages is 7, must be 6", [](RunConfig& run) { run.stages = 7; }},
        {"run.stages is 3, must be 6", [](RunConfig& run) { run.stages = 3; }},
        {"at most model.experts (1)",
         [](RunConfig& run) {
             run.model.experts = 1;
             run.model.experts_per_token = 1;
         }},
        {"the model has no experts",
         [](RunConfig& run) {
             run.model.kind = ModelKind::Llama;
             run.model.experts = 0;
         }},
        {"run.expert_stages is 0, must be 1 to 64", [](RunConfig& run) { run.expert_stages = 0; }},
        {"run.layers_per_stage",
         [](RunConfig& run) {
             run.layers_per_stage = {1, 1, 1, 1, 1, 1};
         }},
        {"run.split", [](RunConfig& run) { run.split = SplitMode::Measured; }},
        {"run.mode",
         [](RunConfig& run) {
             run.mode = SyncMode::Sparse;
             run.checkpoint_every = 8;
         }},
        {"model.bottleneck", [](RunConfig& run) { run.model.bottleneck = 8; }},
        {"model.repeat", [](RunConfig& run) { run.model.repeat = 2; }},
        {"train.exits", [](RunConfig& run) { run.train.exits = {1}; }},
    };
    for (const auto& [text, change] : faults) {
        RunConfig run = run_in_parts(2);
        change(run);
        EXPECT_NE(fault_of(run).find(text), std::string::npos) << text << ": " << fault_of(run);
    }
    RunConfig run = run_in_parts(5);
    run.model.layers = 64;
    run.stages = 64;
    EXPECT_NE(fault_of(run).find("must be 320"), std::string::npos) << fault_of(run);
}

TEST(ExpertStages, TheCutStaysThatOfTheFirstStep) {
    RunConfig now = run_in_parts(1);
    const auto whole = changes_between(run_in_parts(2), now);
    const auto cut = std::ranges::find(whole, "run.expert_stages", &KeyChange::key);
    ASSERT_NE(cut, whole.end());
    EXPECT_EQ(cut->rule, NewValue::Never);
    now = run_in_parts(2);
    now.stages = 4;
    const auto changes = changes_between(run_in_parts(2), now);
    ASSERT_EQ(changes.size(), 1U);
    EXPECT_EQ(changes.front().rule, NewValue::Never);
}

TEST(ExpertStages, AModelThatIsNotReadYetMayHaveExperts) {
    const auto run =
        parse_run("[run]\ninit = \"mixed\"\nstages = 4\nexpert_stages = 2\n", "run.toml");
    ASSERT_TRUE(run.has_value()) << run.error().detail;
    EXPECT_EQ(run->expert_stages, 2U);
    EXPECT_EQ(parse_run(to_toml(run_in_parts(2)), "run.toml")->expert_stages, 2U);
}

}  // namespace
}  // namespace swarm::run
