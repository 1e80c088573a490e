// Layers of a mixture whose experts lie in several stages. The same model in whole layers is the
// reference, bit for bit.
#include "swarm/run/training/expert_stages.hpp"

#include "stages/files/checkpoint.hpp"
#include "stages/single/single_run.hpp"
#include "stages/torch/make_llama.hpp"
#include "stages/worker/stage_state.hpp"
#include "tests/torch/tiny_llama.hpp"
#include "tests/unit/stages/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using stages::StageTensor;
using swarm::run::ModelKind;
using swarm::run::RunConfig;

using Tensors = std::map<std::string, std::vector<float>>;

constexpr std::uint32_t kExperts = 5;

RunConfig run_in_parts(std::uint32_t parts, std::uint32_t per_token = 2) {
    RunConfig config = tiny_config(3);
    config.model.kind = ModelKind::Mixtral;
    config.model.experts = kExperts;
    config.model.experts_per_token = per_token;
    config.expert_stages = parts;
    config.stages = config.model.layers * parts;
    return config;
}

/// The values of all trained tensors, which follow each other by stage.
Tensors tensors_by_name(const RunConfig& config, const std::vector<float>& values) {
    Tensors named;
    auto at = values.begin();
    for (const auto& stage : swarm::run::partition(config)) {
        for (const auto& tensor : stage.tensors) {
            const auto end = at + static_cast<std::ptrdiff_t>(tensor.elements());
            named.emplace(tensor.name, std::vector<float>(at, end));
            at = end;
        }
    }
    return named;
}

std::vector<float> values_by_stage(const RunConfig& config, const Tensors& named) {
    std::vector<float> values;
    for (const auto& stage : swarm::run::partition(config)) {
        for (const auto& tensor : stage.tensors) {
            const auto& own = named.at(tensor.name);
            values.insert(values.end(), own.begin(), own.end());
        }
    }
    return values;
}

Tensors random_tensors(std::uint64_t seed) {
    const RunConfig whole = run_in_parts(1);
    return tensors_by_name(whole, random_weights(whole, seed));
}

TEST(ExpertStages, LossGradientsAndAnswersAreThoseOfWholeLayers) {
    for (const std::uint32_t per_token : {1U, 2U, kExperts}) {
        const RunConfig whole = run_in_parts(1, per_token);
        const Tensors weights = random_tensors(1);
        const auto batch = random_batch(whole, 3);
        const auto prompt = random_tokens(whole, 2, 4);
        Chain reference(whole, values_by_stage(whole, weights));
        const auto expected = reference.train(batch);
        const Tensors gradients = tensors_by_name(whole, expected.gradient);
        for (const std::uint32_t parts : {2U, 3U, kExperts}) {
            const RunConfig config = run_in_parts(parts, per_token);
            Chain cut(config, values_by_stage(config, weights));
            const auto outcome = cut.train(batch);
            EXPECT_EQ(outcome.loss, expected.loss) << parts << " parts, top " << per_token;
            for (const auto& [name, gradient] : tensors_by_name(config, outcome.gradient)) {
                EXPECT_EQ(gradient, gradients.at(name)) << name << ", " << parts << " parts";
            }
            EXPECT_EQ(cut.infer(prompt), reference.infer(prompt));
            EXPECT_EQ(cut.infer({prompt.data(), 1}), reference.infer({prompt.data(), 1}));
        }
    }
}

TEST(ExpertStages, TheBalanceOfTheRouterIsThatOfWholeLayers) {
    const Tensors weights = random_tensors(1);
    const auto of = [&](std::uint32_t parts, double balance) {
        RunConfig config = run_in_parts(parts);
        config.train.balance = balance;
        Chain chain(config, values_by_stage(config, weights));
        return tensors_by_name(config, chain.train(random_batch(config, 3)).gradient);
    };
    EXPECT_EQ(of(2, 1), of(1, 1));
    EXPECT_NE(of(2, 1).at("layers.2.moe.router"), of(2, 0).at("layers.2.moe.router"));
}

/// A stage whose experts nobody chose passes rows on, and has a gradient of zeros.
TEST(ExpertStages, APartWithoutTokensPassesThemOn) {
    Tensors weights = random_tensors(1);
    const RunConfig config = run_in_parts(kExperts, 1);
    for (const char* const layer : {"layers.0.", "layers.1.", "layers.2."}) {
        auto& router = weights.at(std::string(layer) + "moe.router");
        std::fill(router.begin(), router.end(), 0.0F);  // equals: the first is chosen
    }
    Chain chain(config, values_by_stage(config, weights));
    const auto outcome = chain.train(random_batch(config, 3));
    const Tensors gradients = tensors_by_name(config, outcome.gradient);
    EXPECT_GT(norm_of(gradients.at("layers.0.moe.0.w1")), 0);
    EXPECT_EQ(norm_of(gradients.at("layers.0.moe.1.w1")), 0);
    EXPECT_EQ(norm_of(gradients.at("layers.2.moe.4.w2")), 0);
    EXPECT_GT(norm_of(gradients.at("embed.weight")), 0) << "the gradient came through all parts";
}

TEST(ExpertStages, ATensorOfAnotherWidthIsRefused) {
    const RunConfig config = run_in_parts(2);
    const auto layouts = swarm::run::partition(config);
    auto part = take(stages::torch_backend::make_llama_compute(config, layouts[1]));
    const std::vector<float> weights(layouts[1].elements(), 0.5F);
    part->use_weights(weights);
    const std::uint32_t width = config.model.width;
    const auto batch = random_batch(config, 3);
    const StageTensor narrow = host_tensor({2, 6, width}, std::vector<float>(2 * 6 * width));
    EXPECT_TRUE(part->forward(graph_key(0), &narrow, batch, stages::Graph::Keep).has_error());
    const auto shape = swarm::run::activation_shape(config, {0});
    const StageTensor rows = host_tensor(shape, std::vector<float>(2 * 6 * shape[2]));
    const auto output = part->forward(graph_key(0), &rows, batch, stages::Graph::Keep);
    ASSERT_TRUE(output.has_value());
    EXPECT_EQ(output->shape, (std::vector<std::uint32_t>{2, 6, width}));
    std::vector<float> gradient(layouts[1].elements());
    EXPECT_TRUE(part->backward(graph_key(0), rows, gradient).has_error());
    const auto below = part->backward(graph_key(0), narrow, gradient);
    ASSERT_TRUE(below.has_value());
    EXPECT_EQ(below->shape, shape);
}

stages::SingleRun single_run(const RunConfig& config) {
    swarm::run::Corpus text;
    for (std::uint32_t i = 0; i < 4000; ++i) {
        text.push_back('a' + i * i % 23);
    }
    const auto make = [](const RunConfig& own, const swarm::run::StageLayout& layout) {
        return take(stages::torch_backend::make_llama_compute(own, layout));
    };
    return {config, make, text};
}

RunConfig trained_in_parts(std::uint32_t parts, const std::string& codec = "none") {
    RunConfig config = run_in_parts(parts);
    config.model.vocabulary = 256;
    config.microbatches = 2;
    config.steps = 8;
    config.optimizer.warmup_steps = 1;
    config.codec = swarm::run::CodecSetting::find(codec).value();
    return config;
}

/// Weights and moments of all stages.
Tensors state_of(const stages::SingleRun& run) {
    Tensors all;
    for (std::uint32_t stage = 0; stage < run.stages(); ++stage) {
        const stages::StageState& state = run.state(stage);
        for (const auto& [spec, frozen, begin] : swarm::run::all_tensors(state.layout())) {
            const std::size_t count = spec->elements();
            const auto keep = [&](const char* end, std::span<const float> values) {
                const auto own = values.subspan(begin, count);
                all[spec->name + end].assign(own.begin(), own.end());
            };
            keep("", state.weights());
            keep(".first", state.first_moments());
            keep(".second", state.second_moments());
        }
    }
    return all;
}

TEST(ExpertStages, ATrainedRunIsThatOfWholeLayers) {
    stages::SingleRun whole = single_run(trained_in_parts(1));
    stages::SingleRun parts = single_run(trained_in_parts(2));
    for (std::uint64_t step = 0; step < trained_in_parts(1).steps; ++step) {
        EXPECT_EQ(take(parts.step()).loss, take(whole.step()).loss) << step;
    }
    EXPECT_EQ(state_of(parts), state_of(whole));
    EXPECT_EQ(parts.weights_sha256(), whole.weights_sha256());
    std::vector<const stages::StageState*> states;
    for (std::uint32_t stage = 0; stage < parts.stages(); ++stage) {
        states.push_back(&parts.state(stage));
    }
    const stages::test::ScratchFolder scratch;
    const auto folder = take(stages::write_checkpoint(scratch.path(), trained_in_parts(2), states));
    const auto checkpoint = take(stages::read_checkpoint(folder));
    for (const stages::StageState* const state : states) {
        const auto restored = take(stages::restore_stage(checkpoint, state->layout()));
        EXPECT_TRUE(std::ranges::equal(restored.weights(), state->weights()));
        EXPECT_TRUE(std::ranges::equal(restored.second_moments(), state->second_moments()));
    }
}

TEST(ExpertStages, TrainsWithEveryCodec) {
    for (const char* const codec : {"none", "int8", "int4", "hadamard-int4"}) {
        stages::SingleRun run = single_run(trained_in_parts(kExperts, codec));
        const double first = take(run.step()).loss;
        double last = first;
        for (std::uint64_t step = 1; step < trained_in_parts(1).steps; ++step) {
            last = take(run.step()).loss;
        }
        EXPECT_LT(last, first) << codec;
    }
}

}  // namespace
