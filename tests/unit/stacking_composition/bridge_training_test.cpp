// Tests the trainer with two models made by hand, whose best bridge is known.
#include "stacking/composition/bridge_training.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace stacking::composition {
namespace {

using stages::GraphKey;
using stages::StageTensor;
using swarm::Result;

constexpr std::uint32_t kTokens = 5;

class FrozenCompute : public stages::StageCompute {
 public:
    explicit FrozenCompute(const BridgeTraining& training) : training_(training) {}

    void use_weights(std::span<const float>) override {}

    Result<StageTensor> backward(GraphKey, const StageTensor&, std::span<float>) override {
        return StageTensor{};
    }

    void drop(GraphKey) override {}

    void drop_all() override {}

    [[nodiscard]] std::uint64_t graph_bytes() const override { return 0; }

    Result<StageTensor> infer(const StageTensor*, std::span<const std::uint32_t>) override {
        return StageTensor{};
    }

    [[nodiscard]] std::string compute_class() const override { return "by hand"; }

    Result<StageTensor> forward(
        GraphKey, const StageTensor*, std::span<const std::uint32_t>, stages::Graph
    ) override {
        return StageTensor{};
    }

    Result<TailOutput>
    forward_tail(const StageTensor*, std::span<const std::uint32_t>, std::span<float>) override {
        return TailOutput{};
    }

    Result<double> tail_loss(const StageTensor*, std::span<const std::uint32_t>) override {
        return 0.0;
    }

 protected:
    BridgeTraining training_;
};

/// Gives (1, -1) for each odd token and (-1, 1) for each even one.
class Lower final : public FrozenCompute {
 public:
    using FrozenCompute::FrozenCompute;

    Result<StageTensor> forward(
        GraphKey,
        const StageTensor* input,
        std::span<const std::uint32_t> tokens,
        stages::Graph graph
    ) override {
        EXPECT_EQ(input, nullptr);
        EXPECT_EQ(graph, stages::Graph::Drop);
        std::vector<float> values;
        for (std::size_t at = 0; at < tokens.size(); ++at) {
            if ((at + 1) % (training_.window + 1) != 0) {
                const float odd = tokens[at] % 2 == 1 ? 1 : -1;
                values.insert(values.end(), {odd, -odd});
            }
        }
        return stages::make_host_tensor({training_.batch, training_.window, 2}, std::move(values));
    }
};

/// Has as loss the squared distance of its input from embedding + (2 odd, 3).
class Upper final : public FrozenCompute {
 public:
    using FrozenCompute::FrozenCompute;

    Result<TailOutput> forward_tail(
        const StageTensor* input, std::span<const std::uint32_t> tokens, std::span<float> gradient
    ) override {
        EXPECT_EQ(gradient.size(), 7U);
        TailOutput out;
        std::vector<float> by_input;
        const auto rows = static_cast<double>(training_.batch * training_.window);
        std::size_t at = 0;
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            if ((i + 1) % (training_.window + 1) == 0) {
                continue;
            }
            const float odd = tokens[i] % 2 == 1 ? 1 : -1;
            const float wanted[] = {static_cast<float>(tokens[i]) + 2 * odd, 3};
            for (const float want : wanted) {
                const double off = input->values[at++] - want;
                out.loss += off * off / rows;
                by_input.push_back(static_cast<float>(2 * off / rows));
            }
        }
        out.gradient_below =
            stages::make_host_tensor({training_.batch, training_.window, 2}, std::move(by_input));
        return out;
    }
};

class BridgeTrainerTest : public testing::Test {
 protected:
    BridgeTrainerTest() {
        for (std::uint32_t token = 0; token < kTokens; ++token) {
            embedding_.insert(embedding_.end(), {static_cast<float>(token), 0});
        }
        for (std::uint32_t i = 0; i < 4000; ++i) {
            texts_[i % 2].push_back(i * i % kTokens);
        }
    }

    BridgeTrainer trainer(BridgeTraining training) {
        lower_.emplace(training);
        upper_.emplace(training);
        return {{*lower_, *upper_, 7, 2, 2, embedding_}, training, texts_};
    }

    std::vector<float> embedding_;
    std::vector<BridgeTrainer::Text> texts_{2};
    std::optional<Lower> lower_;
    std::optional<Upper> upper_;
};

TEST_F(BridgeTrainerTest, FindsTheMap) {
    BridgeTrainer trainer = this->trainer({400, 4, 16, 0.05, 1});
    std::vector<std::uint32_t> steps;
    const auto bridge = trainer.train([&](const BridgeTrainer::Progress& progress) {
        steps.push_back(progress.step);
    });
    ASSERT_TRUE(bridge) << bridge.error().detail;
    EXPECT_NEAR(trainer.start_loss(), 4 + 9, 1e-4);
    EXPECT_LT(trainer.best_loss(), 0.3);
    EXPECT_EQ(steps.size(), 400U);
    EXPECT_EQ(steps.back(), 400U);
    std::vector<float> odd{7, 0};
    bridge->add(std::vector<float>{1, -1}, odd);
    EXPECT_NEAR(odd[0], 9, 0.4);
    EXPECT_NEAR(odd[1], 3, 0.4);
}

TEST_F(BridgeTrainerTest, GivesTheZeroBridgeWhenNoOtherIsBetter) {
    BridgeTrainer trainer = this->trainer({20, 4, 16, 0.05, 1});
    for (std::uint32_t token = 0; token < kTokens; ++token) {
        embedding_[2 * token] += token % 2 == 1 ? 2.0F : -2.0F;  // the embedding is the best input
        embedding_[2 * token + 1] = 3;
    }
    const auto bridge = trainer.train([](const BridgeTrainer::Progress&) {});
    ASSERT_TRUE(bridge);
    EXPECT_EQ(trainer.best_loss(), trainer.start_loss());
    EXPECT_EQ(bridge->to_file(), Bridge::zero(2, 2).to_file());
}

TEST_F(BridgeTrainerTest, TheSameSeedGivesTheSameBits) {
    const auto train = [&](std::uint64_t seed) {
        return trainer({30, 4, 16, 0.05, seed}).train([](const auto&) {})->to_file();
    };
    EXPECT_EQ(train(1), train(1));
    EXPECT_NE(train(1), train(2));
}

TEST_F(BridgeTrainerTest, AShortTextIsRefused) {
    texts_.resize(1);
    texts_[0].resize(4 * 17 * 10 - 1);
    const auto refused = trainer({30, 4, 16, 0.05, 1}).train([](const auto&) {});
    ASSERT_TRUE(refused.has_error());
    EXPECT_NE(refused.error().detail.find("680 tokens are the least"), std::string::npos);
}

}  // namespace
}  // namespace stacking::composition
