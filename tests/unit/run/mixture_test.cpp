#include "swarm/run/training/mixture.hpp"

#include "swarm/run/layer_work.hpp"
#include "swarm/run/training/tensor_groups.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

namespace swarm::run {
namespace {

RunConfig mixed_run(std::uint32_t experts = 12) {
    RunConfig run;
    run.model.kind = ModelKind::Mixtral;
    run.model.experts = experts;
    return run;
}

std::pair<std::uint32_t, std::string_view> place_of(const TensorSpec& tensor) {
    return place_in_layer(tensor.name);
}

TEST(Mixture, ALayerHasARouterAndThreeMatricesPerExpertInOrderOfNumber) {
    const RunConfig run = mixed_run();
    ASSERT_TRUE(check_run(run).has_value());
    const std::vector<TensorSpec> layer = layer_tensors(run, 1);
    EXPECT_TRUE(std::ranges::is_sorted(layer, {}, place_of));
    EXPECT_EQ(layer.size(), 6U + 1 + 3 * 12);
    EXPECT_EQ(layer[6], (TensorSpec{"layers.1.moe.router", {12, run.model.width}}));
    EXPECT_EQ(layer[7].name, "layers.1.moe.0.w1");
    const TensorSpec last{"layers.1.moe.11.w3", {run.model.ffn_width, run.model.width}};
    EXPECT_EQ(layer.back(), last) << "experts follow each other by number";
    EXPECT_TRUE(std::ranges::none_of(layer, [](const TensorSpec& tensor) {
        return tensor.name.find(".mlp.") != std::string::npos;
    }));
}

TEST(Mixture, ALayerOfQwen3HasNormsOfHeadsToo) {
    RunConfig run = mixed_run();
    run.model.kind = ModelKind::Qwen3Moe;
    ASSERT_TRUE(check_run(run).has_value());
    const std::vector<TensorSpec> layer = layer_tensors(run, 1);
    EXPECT_TRUE(std::ranges::is_sorted(layer, {}, place_of));
    EXPECT_EQ(layer.size(), 8U + 1 + 3 * 12);
    // One stage may hold all layers with all their tensors.
    run.model.layers = 4;
    run.model.experts = 339;
    EXPECT_TRUE(mixture_fault(run.model).has_value());
    run.model.experts = 338;
    EXPECT_FALSE(mixture_fault(run.model).has_value());
}

TEST(Mixture, GroupsTellExpertsAndRoutersApart) {
    const TensorSpec router{"layers.1.moe.router", {12, 128}};
    const TensorSpec expert{"layers.1.moe.3.w1", {344, 128}};
    EXPECT_TRUE(is_in_group("router", router));
    EXPECT_FALSE(is_in_group("router", expert));
    EXPECT_TRUE(is_in_group("experts", expert));
    EXPECT_FALSE(is_in_group("experts", router));
    EXPECT_FALSE(is_in_group("experts", {"layers.1.mlp.w1", {344, 128}}));
    EXPECT_FALSE(is_in_group("mlp", expert));
    EXPECT_TRUE(is_in_group("layers.1", expert));
}

TEST(Mixture, ATokensWorkIsThatOfItsExperts) {
    const RunConfig two = mixed_run(12);
    RunConfig all = two;
    all.model.experts_per_token = 12;
    RunConfig fewer = mixed_run(2);
    EXPECT_DOUBLE_EQ(used_share(two.model, "layers.0.moe.3.w1"), 2.0 / 12);
    EXPECT_EQ(used_share(two.model, "layers.0.moe.router"), 1);
    EXPECT_EQ(used_share(two.model, "layers.0.attn.wq"), 1);
    EXPECT_GT(layer_work(all).front(), 2 * layer_work(two).front());
    // The router of twelve is ten rows larger than that of two.
    const double rows = 3 * 2.0 * 10 * 128 * two.batch * two.model.context / 1e9;
    EXPECT_NEAR(layer_work(two).front(), layer_work(fewer).front() + rows, 1e-9);
}

TEST(Mixture, WhatDoesNotFitIsRefused) {
    const std::function<void(RunConfig&)> spoils[] = {
        [](RunConfig& run) { run.model.kind = ModelKind::Llama; },
        [](RunConfig& run) { run.model.experts = 0; },
        [](RunConfig& run) { run.model.experts = 300; },
    };
    for (const auto& spoil : spoils) {
        RunConfig run = mixed_run();
        spoil(run);
        const auto fault = mixture_fault(run.model);
        ASSERT_TRUE(fault.has_value());
        EXPECT_EQ(fault->first, "model.experts");
        EXPECT_TRUE(check_run(run).has_error());
    }
    RunConfig run = mixed_run(3);
    run.model.experts_per_token = 4;
    EXPECT_EQ(mixture_fault(run.model)->first, "model.experts_per_token");
}

/// The number of layers is not known before the model is read.
TEST(Mixture, ARunFileMayNameExpertsOfAModelThatIsNotReadYet) {
    const auto run = parse_run(
        "[run]\ninit = \"mixed\"\n[model]\nkind = \"mixtral\"\nexperts = 64\n", "run.toml"
    );
    ASSERT_TRUE(run.has_value()) << run.error().detail;
    EXPECT_EQ(run->model.experts, 64U);
}

}  // namespace
}  // namespace swarm::run
