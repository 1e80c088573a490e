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

void expect_agreement(const swarm::run::RunConfig& config) {
    const auto layout = whole_layout(config);
    const auto weights = random_weights(config, 5);
    const std::vector<float> none(weights.size());
    const auto state = stages::StageState::from_tensors(layout, {0, 3}, weights, none, none);
    const stages::StageState* const view = &state;
    const stages::test::ScratchFolder scratch;
    const auto folder = take(stages::write_checkpoint(scratch.path(), config, {&view, 1}));
    const auto model = take(stacking::models::open_run_checkpoint(folder));

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

swarm::run::RunConfig served_config() {
    auto config = tiny_config();
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

}  // namespace
