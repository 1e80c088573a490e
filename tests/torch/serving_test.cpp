// A trained model gives the same text when it is served: the logits of the Llama of the sessions
// (own kernels, KV caches) are compared with those of the training (LibTorch, whole windows).
#include "stacking/llama/llama_sessions.hpp"
#include "stacking/models/run_checkpoint.hpp"
#include "stacking/models/training/shared_layers.hpp"
#include "stages/files/checkpoint.hpp"
#include "tests/torch/tiny_llama.hpp"
#include "tests/unit/stages/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace {

using stacking::CacheId;
using stacking::SessionRow;
using stacking::kernels::WeightFormat;

/// Logits after each token, computed one token at a time.
std::vector<std::vector<float>> served_logits(
    const stacking::models::ModelSource& model, const std::vector<std::uint32_t>& tokens
) {
    const auto layout = split(model.architecture(), 1).front();
    auto weights = take(stacking::llama::load_stage(model, layout, WeightFormat::Fp32));
    EXPECT_EQ(weights->layers.size(), stacking::models::layers_of_their_own(model));
    EXPECT_EQ(weights->weights_of.size(), model.architecture().model.layers);
    stacking::llama::LlamaSessions sessions(std::move(weights), {});
    const CacheId cache{1};
    EXPECT_TRUE(sessions.reserve(cache, static_cast<std::uint32_t>(tokens.size())).has_value());
    std::vector<std::vector<float>> logits;
    const std::uint32_t last = 0;
    for (std::uint32_t at = 0; at < tokens.size(); ++at) {
        const SessionRow row{cache, at};
        const std::span<const std::uint32_t> token(&tokens[at], 1);
        logits.push_back(take(sessions.forward({&row, 1}, token, {&last, 1})));
    }
    return logits;
}

/// Writes the weights, those of all stages in order, as a checkpoint and opens it.
stacking::models::ModelSource as_model(
    const swarm::run::RunConfig& config,
    std::span<const float> weights,
    const std::filesystem::path& folder
) {
    std::vector<stages::StageState> states;
    for (const auto& layout : swarm::run::partition(config)) {
        const auto own = weights.first(layout.elements());
        weights = weights.subspan(own.size());
        const std::vector<float> none(own.size());
        states.push_back(stages::StageState::from_tensors(
            layout, {0, 3}, std::vector<float>(own.begin(), own.end()), none, none
        ));
    }
    std::vector<const stages::StageState*> views;
    for (const auto& state : states) {
        views.push_back(&state);
    }
    const auto written = take(stages::write_checkpoint(folder, config, views));
    return take(stacking::models::open_run_checkpoint(written));
}

void expect_agreement(const swarm::run::RunConfig& config, const std::vector<float>& weights) {
    const stages::test::ScratchFolder scratch;
    const auto model = as_model(config, weights, scratch.path());

    Chain chain(config, weights);
    const auto tokens = random_tokens(config, 7, config.model.context);
    const auto served = served_logits(model, tokens);
    for (std::size_t count = 1; count <= tokens.size(); ++count) {
        const auto trained = chain.infer(std::span(tokens).first(count));
        ASSERT_EQ(served[count - 1].size(), trained.size());
        for (std::size_t i = 0; i < trained.size(); ++i) {
            EXPECT_NEAR(served[count - 1][i], trained[i], 1e-4) << count << " tokens, logit " << i;
        }
        EXPECT_EQ(
            std::ranges::max_element(served[count - 1]) - served[count - 1].begin(),
            std::ranges::max_element(trained) - trained.begin()
        ) << count
          << " tokens";
    }
}

void expect_agreement(const swarm::run::RunConfig& config) {
    expect_agreement(config, random_weights(config, 5));
}

swarm::run::RunConfig served_config(std::uint32_t stages = 1) {
    auto config = tiny_config(stages);
    config.model.vocabulary = 256;  // a size that runs use
    return config;
}

TEST(Serving, AgreesWithTraining) {
    expect_agreement(served_config());
}

TEST(Serving, ChoosesTheExpertsThatTheTrainingChose) {
    using swarm::run::ModelKind;
    for (const ModelKind kind : {ModelKind::Mixtral, ModelKind::Qwen3Moe}) {
        for (const std::uint32_t per_token : {1U, 2U, 3U}) {
            auto config = served_config();
            config.model.kind = kind;
            config.model.experts = 3;
            config.model.experts_per_token = per_token;
            expect_agreement(config);
        }
    }
}

TEST(Serving, ComputesRepeatedLayersAsOftenAsTheTraining) {
    auto config = served_config();
    config.model.layers = 2;
    config.model.repeat = 3;
    expect_agreement(config);
}

/// All maps and tables take part: each has random values of its own.
TEST(Serving, PassesTheBottlenecksOfTheTraining) {
    auto config = served_config(3);
    config.model.bottleneck = 5;
    std::vector<float> weights;
    std::uint64_t seed = 0;
    for (const auto& layout : swarm::run::partition(config)) {
        for (const auto& tensor : layout.tensors) {
            for (const std::uint32_t token : random_tokens(config, ++seed, tensor.elements())) {
                const float value = static_cast<float>(token) / 256 - 0.5F;
                weights.push_back(tensor.shape.size() == 1 ? 1 + 0.4F * value : 0.6F * value);
            }
        }
    }
    expect_agreement(config, weights);
}

}  // namespace
