// model.repeat: a stage computes each of its layers several times in a row with one set of weights.
#include "stages/single/single_run.hpp"
#include "stages/torch/make_llama.hpp"
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

using swarm::run::RunConfig;

constexpr std::uint32_t kLayers = 2;
constexpr std::uint32_t kRepeat = 3;

RunConfig repeated_config(std::uint32_t stages = 1) {
    RunConfig config = tiny_config(stages);
    config.model.layers = kLayers;
    config.model.repeat = kRepeat;
    return config;
}

/// The same computation without shared weights.
RunConfig unrolled_config() {
    RunConfig config = tiny_config();
    config.model.layers = kLayers * kRepeat;
    return config;
}

using Tensors = std::map<std::string, std::vector<float>>;

Tensors by_name(const RunConfig& config, const std::vector<float>& flat) {
    Tensors tensors;
    auto at = flat.begin();
    for (const auto& tensor : whole_layout(config).tensors) {
        const auto end = at + static_cast<std::ptrdiff_t>(tensor.elements());
        tensors.emplace(tensor.name, std::vector<float>(at, end));
        at = end;
    }
    return tensors;
}

/// "layers.1.attn.wq" for "layers.4.attn.wq".
std::string shared_name(const std::string& name) {
    const std::string prefix = "layers.";
    if (!name.starts_with(prefix)) {
        return name;
    }
    const std::size_t dot = name.find('.', prefix.size());
    const auto layer = std::stoul(name.substr(prefix.size(), dot - prefix.size()));
    return prefix + std::to_string(layer / kRepeat) + name.substr(dot);
}

std::vector<float> unrolled(const std::vector<float>& weights) {
    const Tensors own = by_name(repeated_config(), weights);
    std::vector<float> all;
    for (const auto& tensor : whole_layout(unrolled_config()).tensors) {
        const std::vector<float>& values = own.at(shared_name(tensor.name));
        all.insert(all.end(), values.begin(), values.end());
    }
    return all;
}

}  // namespace

TEST(RepeatedLayers, ComputeWhatAModelOfCopiedLayersComputes) {
    const auto weights = random_weights(repeated_config(), 1);
    const auto tokens = random_tokens(repeated_config(), 2, 4);
    Chain copies(unrolled_config(), unrolled(weights));
    EXPECT_EQ(Chain(repeated_config(), weights).infer(tokens), copies.infer(tokens));
    const auto batch = random_batch(repeated_config(), 3);
    EXPECT_EQ(Chain(repeated_config(), weights).train(batch).loss, copies.train(batch).loss);
}

TEST(RepeatedLayers, HaveTheSumOfTheGradientsOfAllUses) {
    const auto weights = random_weights(repeated_config(), 1);
    const auto batch = random_batch(repeated_config(), 3);
    const auto outcome = Chain(repeated_config(), weights).train(batch);
    const auto of_copies = Chain(unrolled_config(), unrolled(weights)).train(batch);
    Tensors sums;
    for (const auto& [name, gradient] : by_name(unrolled_config(), of_copies.gradient)) {
        std::vector<float>& sum = sums[shared_name(name)];
        sum.resize(gradient.size());
        std::ranges::transform(gradient, sum, sum.begin(), std::plus<>());
    }
    const Tensors own = by_name(repeated_config(), outcome.gradient);
    ASSERT_EQ(own.size(), sums.size());
    for (const auto& [name, gradient] : own) {
        const std::vector<float>& expected = sums.at(name);
        ASSERT_EQ(gradient.size(), expected.size()) << name;
        for (std::size_t i = 0; i < gradient.size(); ++i) {
            EXPECT_NEAR(gradient[i], expected[i], 1e-5) << name << " " << i;
        }
    }
}

TEST(RepeatedLayers, KeepMoreForTheBackwardAndNoMoreState) {
    const auto bytes_of = [](std::uint32_t repeat) {
        RunConfig config = repeated_config(2);
        config.model.repeat = repeat;
        const auto weights = random_weights(config, 1);
        Chain chain(config, weights);
        chain.train(random_batch(config, 3));
        return chain.stage(0).graph_bytes();
    };
    EXPECT_GT(bytes_of(3), 2 * bytes_of(1));
    EXPECT_EQ(whole_layout(repeated_config()).elements(), [] {
        RunConfig once = repeated_config();
        once.model.repeat = 1;
        return whole_layout(once).elements();
    }());
}

TEST(RepeatedLayers, TrainToTheSameBitsHoweverTheModelIsSplit) {
    const auto train = [](std::uint32_t stages, std::uint32_t repeat) {
        RunConfig config = repeated_config(stages);
        config.model.vocabulary = 256;
        config.model.repeat = repeat;
        config.steps = 4;
        config.optimizer.warmup_steps = 1;
        swarm::run::Corpus text;
        for (std::uint32_t i = 0; i < 4000; ++i) {
            text.push_back('a' + i * i % 23);
        }
        stages::SingleRun run(
            config,
            [](const RunConfig& own, const swarm::run::StageLayout& layout) {
                return take(stages::torch_backend::make_llama_compute(own, layout));
            },
            text
        );
        double loss = 0;
        for (std::uint64_t step = 0; step < config.steps; ++step) {
            loss = take(run.step()).loss;
        }
        return std::pair(loss, run.weights_sha256());
    };
    EXPECT_EQ(train(1, kRepeat), train(2, kRepeat));
    EXPECT_NE(train(1, kRepeat), train(1, 1));
}
