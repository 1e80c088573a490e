// Tokens that count for no loss where they are the target: they are read as ever, and gradients are
// those of a cross entropy that ignores them.
#include "stages/single/single_run.hpp"
#include "stages/torch/llama_model.hpp"
#include "stages/torch/make_llama.hpp"
#include "swarm/base/token_flags.hpp"
#include "tests/torch/tiny_llama.hpp"

#include <gtest/gtest.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/tensor.h>
#include <algorithm>
#include <cstdint>
#include <torch/csrc/autograd/autograd.h>
#include <utility>
#include <vector>

using at::Tensor;
using stages::torch_backend::LlamaModel;
using swarm::counts_for_loss;
using swarm::kNoLossFlag;
using swarm::token_id;
using swarm::run::RunConfig;
using Tokens = std::vector<std::uint32_t>;

namespace {

/// A batch in which about half of the targets count.
Tokens flagged_batch(const RunConfig& config, std::uint64_t seed) {
    Tokens tokens = random_batch(config, seed);
    const Tokens draws = random_batch(config, seed + 100);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const bool is_target = i % (config.model.context + 1) != 0;
        tokens[i] |= is_target && draws[i] % 2 == 0 ? kNoLossFlag : 0;
    }
    return tokens;
}

Tokens without_flags(Tokens tokens) {
    for (std::uint32_t& token : tokens) {
        token = token_id(token);
    }
    return tokens;
}

/// The gradients that LibTorch's own cross entropy gives, with another value to ignore than ours.
Chain::Outcome reference(const RunConfig& config, const std::vector<float>& flat, Tokens tokens) {
    constexpr std::int64_t kIgnored = -7;
    const auto layout = whole_layout(config);
    LlamaModel model(config, layout, at::kCPU);
    std::vector<Tensor> weights;
    auto at = flat.begin();
    for (const auto& tensor : layout.tensors) {
        const auto end = at + static_cast<std::ptrdiff_t>(tensor.elements());
        const std::vector<std::int64_t> shape(tensor.shape.begin(), tensor.shape.end());
        weights.push_back(
            at::tensor(std::vector<float>(at, end), at::kFloat).view(shape).requires_grad_(true)
        );
        at = end;
    }
    model.set_weights(weights);
    std::vector<std::int64_t> inputs;
    std::vector<std::int64_t> targets;
    const std::size_t row = config.model.context + 1;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (i % row != row - 1) {
            inputs.push_back(token_id(tokens[i]));
        }
        if (i % row != 0) {
            targets.push_back(counts_for_loss(tokens[i]) ? tokens[i] : kIgnored);
        }
    }
    const Tensor ids = at::tensor(inputs, at::kLong).view({config.batch, config.model.context});
    const Tensor loss = at::cross_entropy_loss(
        model.logits(model.run_layers(model.embed(ids), ids).rows.flatten(0, 1)),
        at::tensor(targets, at::kLong),
        {},
        at::Reduction::Mean,
        kIgnored
    );
    Chain::Outcome outcome{loss.item<double>(), {}};
    for (const Tensor& gradient : torch::autograd::grad({loss / config.microbatches}, weights)) {
        const Tensor whole = gradient.contiguous();
        const float* const values = whole.const_data_ptr<float>();
        outcome.gradient.insert(outcome.gradient.end(), values, values + whole.numel());
    }
    return outcome;
}

/// Rows with flags, for runs.
class FlaggedRows final : public swarm::run::SampleRows {
 public:
    explicit FlaggedRows(const RunConfig& config) : config_(config) {}

    void read(std::uint64_t number, std::span<std::uint32_t> ids) const override {
        const Tokens batch = flagged_batch(config_, number);
        std::copy_n(batch.begin(), ids.size(), ids.begin());
    }

 private:
    RunConfig config_;
};

}  // namespace

TEST(NoLoss, HasTheGradientsOfACrossEntropyThatIgnoresTargets) {
    const RunConfig config = tiny_config(2);
    const auto weights = random_weights(config, 1);
    const Tokens tokens = flagged_batch(config, 2);
    const auto ours = Chain(config, weights).train(tokens);
    const auto wanted = reference(config, weights, tokens);
    EXPECT_NEAR(ours.loss, wanted.loss, 1e-6);
    ASSERT_EQ(ours.gradient.size(), wanted.gradient.size());
    for (std::size_t i = 0; i < ours.gradient.size(); ++i) {
        ASSERT_NEAR(ours.gradient[i], wanted.gradient[i], 1e-6) << i;
    }
    EXPECT_NE(Chain(config, weights).train(without_flags(tokens)).loss, ours.loss);
}

TEST(NoLoss, IsBitEqualHoweverTheModelIsSplit) {
    const auto weights = random_weights(tiny_config(), 1);
    const Tokens tokens = flagged_batch(tiny_config(), 2);
    const auto whole = Chain(tiny_config(1), weights).train(tokens);
    EXPECT_EQ(Chain(tiny_config(2), weights).train(tokens), whole);
    EXPECT_EQ(Chain(tiny_config(3), weights).train(tokens), whole);
}

TEST(NoLoss, LeavesActivationsAsTheyAre) {
    const RunConfig config = tiny_config(2);
    const auto weights = random_weights(config, 1);
    const Tokens tokens = flagged_batch(config, 2);
    Chain chain(config, weights);
    const auto activation = [&](const Tokens& of) {
        const auto made =
            take(chain.stage(0).forward(graph_key(1), nullptr, of, stages::Graph::Drop));
        return std::vector<float>(made.values.begin(), made.values.end());
    };
    EXPECT_EQ(activation(tokens), activation(without_flags(tokens)));
}

TEST(NoLoss, IsNothingWhereNoTargetCounts) {
    const RunConfig config = tiny_config(3);
    Tokens tokens = random_batch(config, 2);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        tokens[i] |= i % (config.model.context + 1) != 0 ? kNoLossFlag : 0;
    }
    const auto weights = random_weights(config, 1);
    const auto outcome = Chain(config, weights).train(tokens);
    EXPECT_EQ(outcome.loss, 0);
    EXPECT_EQ(outcome.gradient, std::vector<float>(outcome.gradient.size()));
}

TEST(NoLoss, IsOnlyForTargets) {
    const RunConfig config = tiny_config(1);
    const auto weights = random_weights(config, 1);
    Chain chain(config, weights);
    std::vector<float> gradient(chain.elements(0));
    Tokens tokens = random_batch(config, 2);
    tokens[config.model.context + 1] |= kNoLossFlag;
    EXPECT_FALSE(chain.stage(0).forward_tail(nullptr, tokens, gradient));
    EXPECT_FALSE(chain.stage(0).infer(nullptr, Tokens{1, 2 | kNoLossFlag}));
}

TEST(NoLoss, TrainsTheSameWeightsForAnySplit) {
    const auto weights_after = [](std::uint32_t stages) {
        const RunConfig config = tiny_config(stages);
        const FlaggedRows rows(config);
        const auto make = [](const RunConfig& run, const swarm::run::StageLayout& layout) {
            return take(stages::torch_backend::make_llama_compute(run, layout));
        };
        stages::SingleRun run(config, make, {}, &rows);
        for (int i = 0; i < 3; ++i) {
            EXPECT_EQ(take(run.step()).counted_once, config.microbatches);
        }
        std::vector<float> all;
        for (std::uint32_t stage = 0; stage < run.stages(); ++stage) {
            const auto weights = run.state(stage).weights();
            all.insert(all.end(), weights.begin(), weights.end());
        }
        return all;
    };
    EXPECT_EQ(weights_after(1), weights_after(3));
}
