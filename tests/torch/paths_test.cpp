// Paths that leave layers out or take them twice compute what a model without these layers, or with
// copies of them, computes.
#include "stages/single/single_run.hpp"
#include "stages/torch/make_llama.hpp"
#include "stages/worker/stage_worker.hpp"
#include "tests/torch/tiny_llama.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

using swarm::run::LayerPath;
using swarm::run::RunConfig;
using LayerOrder = std::vector<std::uint32_t>;
using PathTensors = std::map<std::string, std::vector<float>>;

RunConfig config_of_paths(const LayerOrder& layers, std::uint32_t stages = 1) {
    RunConfig config = tiny_config(stages);
    config.paths = {layers, 3, 3};
    return config;
}

/// A plain model of so many layers.
RunConfig plain_config(std::size_t layers) {
    RunConfig config = tiny_config();
    config.model.layers = static_cast<std::uint32_t>(layers);
    return config;
}

PathTensors path_tensors(const RunConfig& config, const std::vector<float>& flat) {
    PathTensors tensors;
    auto at = flat.begin();
    for (const auto& tensor : whole_layout(config).tensors) {
        const auto end = at + static_cast<std::ptrdiff_t>(tensor.elements());
        tensors.emplace(tensor.name, std::vector<float>(at, end));
        at = end;
    }
    return tensors;
}

/// The name in the model with paths of a tensor of the one that has `order` as its layers.
std::string name_in_paths(const std::string& name, const LayerOrder& order) {
    const std::string prefix = "layers.";
    if (!name.starts_with(prefix)) {
        return name;
    }
    const std::size_t dot = name.find('.', prefix.size());
    const auto layer = std::stoul(name.substr(prefix.size(), dot - prefix.size()));
    return prefix + std::to_string(order.at(layer)) + name.substr(dot);
}

Chain::Outcome trained_on(
    const RunConfig& config, LayerPath path, const std::vector<float>& weights
) {
    Chain chain(config, weights);
    for (std::uint32_t stage = 0; stage < config.stages; ++stage) {
        chain.stage(stage).take_path(path);
    }
    return chain.train(random_batch(config, 3));
}

/// Compares with a plain model whose layers are copies of the layers `order`.
void expect_model(const LayerOrder& layers, LayerPath path, const LayerOrder& order) {
    const RunConfig config = config_of_paths(layers);
    const auto weights = random_weights(config, 1);
    const PathTensors own = path_tensors(config, weights);
    const RunConfig plain = plain_config(order.size());
    std::vector<float> copies;
    for (const auto& tensor : whole_layout(plain).tensors) {
        const std::vector<float>& values = own.at(name_in_paths(tensor.name, order));
        copies.insert(copies.end(), values.begin(), values.end());
    }
    const auto expected = Chain(plain, copies).train(random_batch(plain, 3));
    const auto outcome = trained_on(config, path, weights);
    EXPECT_EQ(outcome.loss, expected.loss);
    PathTensors sums;
    for (const auto& [name, values] : own) {
        sums[name].resize(values.size());  // zeros, which stay for a layer that is left out
    }
    for (const auto& [name, gradient] : path_tensors(plain, expected.gradient)) {
        std::vector<float>& sum = sums.at(name_in_paths(name, order));
        std::ranges::transform(gradient, sum, sum.begin(), std::plus<>());
    }
    for (const auto& [name, gradient] : path_tensors(config, outcome.gradient)) {
        const std::vector<float>& sum = sums.at(name);
        for (std::size_t i = 0; i < gradient.size(); ++i) {
            EXPECT_NEAR(gradient[i], sum[i], 1e-5) << name << " " << i;
        }
    }
}

stages::SingleRun run_of(const RunConfig& config) {
    const stages::MakeCompute make = [](const auto& own, const auto& layout) {
        return take(stages::torch_backend::make_llama_compute(own, layout));
    };
    swarm::run::Corpus corpus;
    for (std::uint32_t i = 0; i < 4000; ++i) {
        corpus.push_back(i * i % 11);
    }
    return {config, make, std::move(corpus)};
}

std::vector<double> losses_of(const RunConfig& config) {
    auto run = run_of(config);
    std::vector<double> losses;
    for (int step = 0; step < 3; ++step) {
        losses.push_back(take(run.step()).loss);
    }
    return losses;
}

}  // namespace

TEST(Paths, SkippedLayersAreThoseOfAModelWithoutThem) {
    expect_model({1}, LayerPath::Skipped, {0, 2});
    expect_model({0, 1}, LayerPath::Skipped, {2});
    expect_model({1, 2}, LayerPath::Skipped, {0});
}

TEST(Paths, LayersThatAreTakenTwiceHaveTheGradientsOfBothUses) {
    expect_model({1}, LayerPath::Twice, {0, 1, 1, 2});
    expect_model({0, 1}, LayerPath::Twice, {0, 1, 0, 1, 2});
    expect_model({0, 1, 2}, LayerPath::Twice, {0, 1, 2, 0, 1, 2});
}

TEST(Paths, AreTheSameBitsInOneStageAndInThree) {
    const auto weights = random_weights(tiny_config(), 1);
    for (const std::uint32_t layer : {0U, 1U, 2U}) {
        for (const LayerPath path : {LayerPath::Plain, LayerPath::Skipped, LayerPath::Twice}) {
            EXPECT_EQ(
                trained_on(config_of_paths({layer}, 3), path, weights),
                trained_on(config_of_paths({layer}), path, weights)
            );
        }
    }
    EXPECT_EQ(
        trained_on(config_of_paths({1}), LayerPath::Plain, weights),
        trained_on(tiny_config(), LayerPath::Plain, weights)
    );
}

TEST(Paths, AreForTrainingAlone) {
    const RunConfig config = config_of_paths({1});
    const auto weights = random_weights(config, 1);
    const auto batch = random_batch(config, 3);
    const auto prompt = random_tokens(config, 2, 4);
    Chain plain(config, weights);
    Chain other(config, weights);
    other.stage(0).take_path(LayerPath::Skipped);
    EXPECT_EQ(other.infer(prompt), plain.infer(prompt));
    EXPECT_EQ(
        take(other.stage(0).tail_loss(nullptr, batch)),
        take(plain.stage(0).tail_loss(nullptr, batch))
    );
    EXPECT_NE(other.train(batch).loss, plain.train(batch).loss);
}

TEST(Paths, AStageThatSkipsAllThatItTrainsHasNoGradient) {
    RunConfig config = config_of_paths({0}, 3);
    config.train.freeze = {"embed"};
    const auto layout = swarm::run::partition(config).front();
    const std::vector<float> frozen(layout.frozen_elements(), 0.5F);
    const std::vector<float> weights(layout.elements(), 0.25F);
    const auto stage = take(stages::torch_backend::make_llama_compute(config, layout));
    stage->use_frozen(frozen);
    stage->use_weights(weights);
    stage->take_path(LayerPath::Skipped);
    const auto tokens = random_batch(config, 3);
    const auto output = take(stage->forward(graph_key(0), nullptr, tokens, stages::Graph::Keep));
    EXPECT_EQ(output.values.front(), 0.5F) << "the embedding itself";
    std::vector<float> gradient(layout.elements(), 7.0F);
    const auto by_output = host_tensor(
        {config.batch, config.model.context, config.model.width},
        std::vector<float>(output.values.size(), 1.0F)
    );
    take(stage->backward(graph_key(0), by_output, gradient));
    EXPECT_EQ(gradient, std::vector<float>(layout.elements()));
}

TEST(Paths, ARunTakesThemInItsMicrobatchesOnly) {
    const auto plain = losses_of(tiny_config(3));
    RunConfig config = config_of_paths({1}, 3);
    const auto both = losses_of(config);
    EXPECT_NE(both[0], plain[0]);
    EXPECT_EQ(losses_of(config), both);
    config.paths = {{1}, 100, 0};
    EXPECT_NE(losses_of(config)[0], plain[0]) << "microbatch 0 of step 0";
    config.paths = {{1}, 0, 0};
    EXPECT_EQ(losses_of(config), plain);
}

TEST(Paths, TrainTheSameWeightsInOneStageAndInThree) {
    const auto weights_of = [](std::uint32_t stages) {
        auto run = run_of(config_of_paths({1}, stages));
        for (int step = 0; step < 4; ++step) {
            take(run.step());
        }
        return run.weights_sha256();
    };
    EXPECT_EQ(weights_of(3), weights_of(1));
}

/// A peer that lacks memory, or that takes over microbatches in another order, does this.
TEST(Paths, AreTheSameWhereGraphsAreComputedAgainInAnotherOrder) {
    RunConfig config = config_of_paths({0}, 3);
    config.microbatches = 6;
    const auto batch = random_batch(config, 3);
    const auto layout = swarm::run::partition(config).front();
    const auto sums_of = [&](bool again, bool backwards) {
        auto compute = take(stages::torch_backend::make_llama_compute(config, layout));
        stages::StageWorker worker(config, layout, std::move(compute));
        worker.start_from_seed();
        worker.warm_up();
        if (again) {
            worker.set_graph_room(0);
        }
        std::map<std::uint32_t, stages::Payload> outputs;
        std::vector<stages::StageWorker::Leg> legs(config.microbatches);
        for (std::uint32_t id = 0; id < config.microbatches; ++id) {
            legs[id].key = graph_key(id);
            legs[id].step = 5;
            legs[id].tokens = batch;
            outputs[id] = take(worker.forward(legs[id], stages::Graph::Keep));
        }
        for (std::uint32_t i = 0; i < config.microbatches; ++i) {
            const std::uint32_t id = backwards ? config.microbatches - 1 - i : i;
            legs[id].input = outputs.at(id);  // any tensor of this shape will do
            take(worker.backward(legs[id]));
            worker.accumulate(legs[id].key);
        }
        EXPECT_EQ(worker.recomputed(), again ? config.microbatches : 0U);
        worker.begin_result(0, stages::Slices(worker.extended_elements(), 1));
        worker.finish_slice(0);
        return worker.summarise_result().hash;
    };
    const auto expected = sums_of(false, false);
    EXPECT_EQ(sums_of(true, false), expected);
    EXPECT_EQ(sums_of(false, true), expected);
    EXPECT_EQ(sums_of(true, true), expected);
}
