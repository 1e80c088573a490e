// The stages compute the same numbers as a plain model in double, and gradients that are the slope
// of its loss.
#include "tests/torch/reference_llama.hpp"
#include "tests/torch/tiny_llama.hpp"

#include <gtest/gtest.h>

#include <cmath>

using swarm::run::RunConfig;

namespace {

constexpr std::uint64_t kSeed = 5;
constexpr double kStep = 1e-5;  // step of the finite differences

std::vector<double> in_double(const std::vector<float>& values) {
    return {values.begin(), values.end()};
}

}  // namespace

TEST(LlamaReference, LossAgrees) {
    const RunConfig config = tiny_config(2);
    const auto weights = random_weights(config, kSeed);
    const auto tokens = random_batch(config, kSeed);
    const double loss = Chain(config, weights).train(tokens).loss;
    const double reference =
        reference_loss(config, whole_layout(config), in_double(weights), tokens);
    EXPECT_NEAR(loss, reference, 1e-5);
}

TEST(LlamaReference, GradientIsTheSlopeOfTheLossOverTheMicrobatches) {
    const RunConfig config = tiny_config(2);
    const auto layout = whole_layout(config);
    const auto weights = random_weights(config, kSeed);
    const auto tokens = random_batch(config, kSeed);
    const auto gradient = Chain(config, weights).train(tokens).gradient;
    auto moved = in_double(weights);
    const auto loss_at = [&](std::size_t i, double value) {
        const double before = std::exchange(moved[i], value);
        const double loss = reference_loss(config, layout, moved, tokens);
        moved[i] = before;
        return loss;
    };
    std::size_t begin = 0;
    for (const auto& tensor : layout.tensors) {
        double largest = 0;
        for (std::size_t i = begin; i < begin + tensor.elements(); i += 5) {
            const double slope =
                (loss_at(i, moved[i] + kStep) - loss_at(i, moved[i] - kStep)) / (2 * kStep);
            const double expected = slope / config.microbatches;
            largest = std::fmax(largest, std::fabs(expected));
            ASSERT_NEAR(gradient[i], expected, 2e-6) << tensor.name << " element " << i - begin;
        }
        EXPECT_GT(largest, 1e-4) << tensor.name << ": the comparison would miss a gradient of 0";
        begin += tensor.elements();
    }
}

TEST(LlamaReference, LogitsAgreeInEveryWindowUpToTheContext) {
    const RunConfig config = tiny_config(3);
    const auto layout = whole_layout(config);
    const auto weights = random_weights(config, kSeed);
    Chain chain(config, weights);
    for (std::uint32_t length = 1; length <= config.model.context; ++length) {
        const auto window = random_tokens(config, length, length);
        const auto logits = chain.infer(window);
        const auto expected =
            reference_logits(config.model, layout, in_double(weights), window).back();
        ASSERT_EQ(logits.size(), expected.size());
        for (std::size_t i = 0; i < logits.size(); ++i) {
            EXPECT_NEAR(logits[i], expected[i], 1e-5) << "window " << length << " token " << i;
        }
    }
}

TEST(LlamaReference, InferenceOnEveryPrefixGivesTheTrainingLoss) {
    const RunConfig config = tiny_config(2);
    const auto weights = random_weights(config, kSeed);
    Chain chain(config, weights);
    const auto tokens = random_batch(config, kSeed);
    const std::size_t context = config.model.context;
    double loss = 0;
    for (std::size_t row = 0; row < config.batch; ++row) {
        const auto text = std::span(tokens).subspan(row * (context + 1), context + 1);
        for (std::size_t t = 0; t < context; ++t) {
            const auto logits = chain.infer(text.first(t + 1));
            double sum = 0;
            for (const float logit : logits) {
                sum += std::exp(static_cast<double>(logit));
            }
            loss += std::log(sum) - static_cast<double>(logits[text[t + 1]]);
        }
    }
    EXPECT_NEAR(loss / static_cast<double>(config.batch * context), chain.train(tokens).loss, 1e-5);
}

TEST(LlamaReference, LearnsARepeatedSequence) {
    const RunConfig config = tiny_config(3);
    auto weights = random_weights(config, kSeed);
    const auto tokens = random_batch(config, kSeed);
    Chain chain(config, weights);
    const double first = chain.train(tokens).loss;
    for (int step = 0; step < 100; ++step) {
        const auto outcome = chain.train(tokens);
        for (std::size_t i = 0; i < weights.size(); ++i) {
            weights[i] -= 0.5F * outcome.gradient[i];
        }
        chain.use_weights(weights);
    }
    EXPECT_LT(chain.train(tokens).loss, 0.2 * first) << "first loss " << first;
}
