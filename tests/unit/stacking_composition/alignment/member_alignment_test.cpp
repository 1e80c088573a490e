// Trains a member made by hand, whose states are its only weights, towards known targets.
#include "stacking/composition/alignment/member_alignment.hpp"

#include "tests/unit/stacking_composition/alignment/hand_made_compute.hpp"

#include <algorithm>

namespace stacking::composition {
namespace {

using stages::StageState;
using stages::StageTensor;
using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;
using swarm::run::RunConfig;
using swarm::run::StageLayout;

constexpr std::uint32_t kWidth = 3;

/// Says its weights at every token.
class SaysItsWeights final : public HandMadeCompute {
 public:
    Result<StageTensor> forward(stages::GraphKey, Input, Tokens tokens, stages::Graph graph)
        override {
        keeps_ = graph == stages::Graph::Keep;
        const auto sequences = static_cast<std::uint32_t>(tokens.size() / 2);
        std::vector<float> values;
        for (std::uint32_t i = 0; i < sequences; ++i) {
            values.insert(values.end(), weights_.begin(), weights_.end());
        }
        return stages::make_host_tensor({sequences, 1, kWidth}, std::move(values));
    }

    Result<StageTensor> backward(
        stages::GraphKey, const StageTensor& by_output, std::span<float> gradient
    ) override {
        EXPECT_TRUE(keeps_);
        std::ranges::fill(gradient, 0.0F);
        for (std::size_t at = 0; at < by_output.values.size(); ++at) {
            gradient[at % kWidth] += by_output.values[at];
        }
        return StageTensor{};
    }

 private:
    bool keeps_ = false;
};

/// Has a loss of `slope` times the last value.
class LikesASmallLastValue final : public HandMadeCompute {
 public:
    explicit LikesASmallLastValue(float slope) : slope_(slope) {}

    Result<TailOutput> forward_tail(Input input, Tokens tokens, std::span<float>) override {
        std::vector<float> below(input->values.size());
        for (std::size_t at = kWidth - 1; at < below.size(); at += kWidth) {
            below[at] = slope_ / static_cast<float>(input->shape[0]);
        }
        const double loss = *tail_loss(input, tokens);
        return TailOutput{loss, stages::make_host_tensor(input->shape, std::move(below))};
    }

    Result<double> tail_loss(Input input, Tokens) override {
        return static_cast<double>(slope_) * static_cast<double>(input->values[kWidth - 1]);
    }

 private:
    float slope_;
};

class MemberAlignmentTest : public testing::Test {
 protected:
    MemberAlignmentTest() {
        config_.model.context = 1;
        config_.batch = 2;
        config_.steps = 400;
        config_.optimizer.learning_rate = 0.01;
        config_.optimizer.warmup_steps = 0;
        config_.optimizer.weight_decay = 0;
        layout_.tensors = {{"layers.0.mlp.w1", {kWidth}}};
        layers_.use_weights(first_);
    }

    MemberAlignment alignment(
        LikesASmallLastValue& head, double weight, std::vector<StateShard> shards
    ) {
        const std::vector<float> zeros(kWidth);
        StateManifest manifest{
            StateKind::Targets, 1, kWidth, 9, 2, static_cast<std::uint32_t>(shards.size()), "", {}};
        return {
            {layers_, head, StageState::from_tensors(layout_, {}, first_, zeros, zeros)},
            config_,
            manifest,
            [this, shards = std::move(shards)](std::uint32_t number) -> Result<StateShard> {
                ++reads_[number];
                return shards[number];
            },
            {400, 0.01, weight, 5}};
    }

    static StateShard shard_at(std::vector<float> target) {
        StateShard shard{1, kWidth, {1, 2, 3, 4}, target};
        shard.rows.insert(shard.rows.end(), target.begin(), target.end());
        return shard;
    }

    RunConfig config_;
    StageLayout layout_;
    std::vector<float> first_{1, 1, 1};
    SaysItsWeights layers_;
    std::map<std::uint32_t, int> reads_;
};

TEST_F(MemberAlignmentTest, StatesComeToTheirTargets) {
    LikesASmallLastValue head(0);
    auto member =
        alignment(head, 1, {shard_at({2, 0, 1}), shard_at({2, 0, 1}), shard_at({0, 4, 0})});
    const auto before = member.held_out();
    ASSERT_TRUE(before.has_value());
    EXPECT_NEAR(before->distance, (1.0 + 9 + 1) / 16, 1e-6);
    reads_.clear();
    double last = 0;
    const auto trained = member.train([&](std::uint32_t, const MemberAlignment::Losses& losses) {
        last = losses.distance;
    });
    ASSERT_TRUE(trained.has_value());
    EXPECT_LT(last, 1e-3);
    EXPECT_NEAR(member.weights()[0], 2, 0.05);
    EXPECT_NEAR(member.weights()[1], 0, 0.05);
    EXPECT_EQ(reads_.count(2), 0U) << "the held-out shard is trained on";
    EXPECT_GT(reads_[0], 100);
    EXPECT_GT(reads_[1], 100);
}

TEST_F(MemberAlignmentTest, TheTokenLossIsAnAnchor) {
    LikesASmallLastValue head(1);
    auto member = alignment(head, 1, {shard_at({1, 1, 1}), shard_at({1, 1, 1})});
    ASSERT_TRUE(member.train([](std::uint32_t, const MemberAlignment::Losses&) {}).has_value());
    // slope + 2 (h - v) / |v|^2 is 0 at h = v - 3/2 slope.
    EXPECT_NEAR(member.weights()[2], -0.5, 0.1);
    const auto after = member.held_out();
    ASSERT_TRUE(after.has_value());
    EXPECT_NEAR(after->tokens, member.weights()[2], 1e-6);
}

TEST_F(MemberAlignmentTest, AShardOfAnotherShapeEndsTheTraining) {
    LikesASmallLastValue head(0);
    StateShard wide = shard_at({1, 1, 1});
    wide.width = 1;
    wide.rows.resize(2);
    auto member = alignment(head, 1, {wide, wide});
    const auto trained = member.train([](std::uint32_t, const MemberAlignment::Losses&) {});
    ASSERT_FALSE(trained.has_value());
    EXPECT_EQ(trained.error().code, ErrorCode::Mismatch);
    EXPECT_FALSE(member.held_out().has_value());
}

}  // namespace
}  // namespace stacking::composition
