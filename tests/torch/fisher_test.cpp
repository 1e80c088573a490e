// The Fisher diagonal of a tiny Llama beside the slopes of the loss of a plain model in double.
#include "stacking/composition/fisher_diagonal.hpp"
#include "stages/torch/make_llama.hpp"
#include "swarm/base/token_flags.hpp"
#include "tests/torch/reference_llama.hpp"
#include "tests/torch/tiny_llama.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace {

using stacking::composition::fisher_diagonal;
using stacking::composition::fisher_tensors;
using stacking::composition::fisher_windows;
using stacking::composition::FisherDiagonal;
using stacking::composition::FisherWindow;
using stacking::composition::HeadMatrix;
using swarm::run::RunConfig;
using swarm::run::StageLayout;

constexpr std::uint64_t kTextSeed = 8;
constexpr double kDifference = 1e-5;  // step of the finite differences

RunConfig windows_config(bool tied) {
    RunConfig config = tiny_config();
    config.batch = 1;
    config.microbatches = 1;
    config.model.tied_embeddings = tied;
    return config;
}

/// Three whole windows, and one with two targets.
std::vector<FisherWindow> some_windows(const RunConfig& config) {
    const std::vector<std::vector<std::uint32_t>> texts{random_tokens(config, kTextSeed, 21)};
    auto windows = fisher_windows(texts, {}, config.model.context);
    EXPECT_EQ(windows.size(), 4U);
    EXPECT_EQ(windows.back().targets, 2U);
    return windows;
}

/// Both uses of a tied matrix have one value.
std::vector<float> weights_for(const RunConfig& config, const StageLayout& layout) {
    std::vector<float> weights = random_weights(config, kTextSeed);
    if (config.model.tied_embeddings) {
        const std::uint64_t count = layout.tensors.front().elements();
        std::copy_n(weights.begin(), count, weights.end() - static_cast<std::ptrdiff_t>(count));
    }
    return weights;
}

FisherDiagonal measured(
    const RunConfig& config,
    const StageLayout& layout,
    std::span<const float> weights,
    HeadMatrix head
) {
    const auto compute = take(stages::torch_backend::make_llama_compute(config, layout));
    compute->use_weights(weights);
    return take(fisher_diagonal(*compute, layout, head, some_windows(config), [](std::size_t) {}));
}

/// The sum of the losses of a window's targets over its positions. A target depends on no token
/// after it, so the window may end with the last one.
double window_loss(
    const RunConfig& config,
    const StageLayout& layout,
    std::span<const double> weights,
    const FisherWindow& window
) {
    RunConfig shorter = config;
    shorter.model.context = window.targets;
    const auto tokens = std::span(window.tokens).first(std::size_t{window.targets} + 1);
    return reference_loss(shorter, layout, weights, tokens) * window.targets / config.model.context;
}

/// The mean square of the slopes at a value and, where it is tied, at its second use.
double mean_square(
    const RunConfig& config,
    const StageLayout& layout,
    std::vector<double> weights,
    const std::vector<std::size_t>& places
) {
    double squares = 0;
    const auto windows = some_windows(config);
    const double value = weights[places.front()];
    const auto loss_at = [&](const FisherWindow& window, double moved) {
        for (const std::size_t place : places) {
            weights[place] = moved;
        }
        return window_loss(config, layout, weights, window);
    };
    for (const FisherWindow& window : windows) {
        const double slope =
            (loss_at(window, value + kDifference) - loss_at(window, value - kDifference)) /
            (2 * kDifference);
        squares += slope * slope;
    }
    return squares / static_cast<double>(windows.size());
}

TEST(Fisher, IsTheMeanSquareOfTheSlopesOfTheLoss) {
    const RunConfig config = windows_config(false);
    const StageLayout layout = whole_layout(config);
    const auto weights = weights_for(config, layout);
    const FisherDiagonal found = measured(config, layout, weights, HeadMatrix::Own);
    ASSERT_EQ(found.values.size(), weights.size());
    const std::vector<double> exact(weights.begin(), weights.end());
    for (std::size_t k = 0; k < weights.size(); k += 37) {
        const double wanted = mean_square(config, layout, exact, {k});
        EXPECT_NEAR(found.values[k], wanted, 1e-3 * wanted + 1e-9) << k;
    }
    double nats = 0;
    double targets = 0;
    for (const FisherWindow& window : some_windows(config)) {
        nats += window_loss(config, layout, exact, window) * config.model.context;
        targets += window.targets;
    }
    EXPECT_NEAR(found.loss, nats / targets, 1e-5);
}

TEST(Fisher, TheUsesOfATiedMatrixAddUpBeforeTheSquare) {
    const RunConfig config = windows_config(true);
    const StageLayout layout = whole_layout(config);
    const auto weights = weights_for(config, layout);
    const FisherDiagonal found = measured(config, layout, weights, HeadMatrix::Tied);
    const std::uint64_t tied = layout.tensors.front().elements();
    ASSERT_EQ(found.values.size(), weights.size() - tied);
    EXPECT_EQ(fisher_tensors(layout, HeadMatrix::Tied).size(), layout.tensors.size() - 1);
    const std::vector<double> exact(weights.begin(), weights.end());
    const FisherDiagonal apart = measured(config, layout, weights, HeadMatrix::Own);
    for (std::size_t k = 0; k < tied; k += 7) {
        const std::size_t second = weights.size() - tied + k;
        const double wanted = mean_square(config, layout, exact, {k, second});
        EXPECT_NEAR(found.values[k], wanted, 1e-3 * wanted + 1e-9) << k;
    }
    EXPECT_NE(found.values[0], apart.values[0] + apart.values[weights.size() - tied]);
    EXPECT_TRUE(std::equal(
        found.values.begin() + static_cast<std::ptrdiff_t>(tied),
        found.values.end(),
        apart.values.begin() + static_cast<std::ptrdiff_t>(tied)
    ));
}

}  // namespace
