#include "stages/compute/oracle_compute.hpp"

#include "swarm/run/batch_plan.hpp"
#include "tests/unit/stages/small_models.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace stages {
namespace {

using swarm::ErrorCode;

class Oracle : public testing::Test {
 protected:
    /// Three stages of two layers each with 300 microbatches, which are more than the vocabulary.
    Oracle() : config_(test::oracle_run(3, 300)), plan_(config_, {}) {
        for (const auto& layout : swarm::run::partition(config_)) {
            stages_.push_back(make_oracle_compute(config_, layout));
            stages_.back()->use_weights(weights_);
        }
    }

    [[nodiscard]] std::vector<std::uint32_t> tokens(std::uint32_t id) const {
        return plan_.tokens(0, {id});
    }

    static GraphKey key(std::uint32_t id) { return {{id}, swarm::make_epoch(1, 1)}; }

    swarm::run::RunConfig config_;
    swarm::run::BatchPlan plan_;
    std::vector<float> weights_ = std::vector<float>(600, 1.0F);
    std::vector<float> gradient_ = std::vector<float>(600, 7.0F);
    std::vector<std::unique_ptr<StageCompute>> stages_;
};

TEST_F(Oracle, HasAGradientOfOneAtItsMicrobatchInEachLayer) {
    const auto up = stages_[0]->forward(key(299), nullptr, tokens(299), Graph::Keep);
    ASSERT_TRUE(up.has_value());
    ASSERT_TRUE(stages_[1]->forward(key(299), &*up, tokens(299), Graph::Keep));
    const auto tail = stages_[2]->forward_tail(&*up, tokens(299), gradient_);
    ASSERT_TRUE(tail.has_value());
    std::vector<float> expected(600);
    expected[299] = 1;
    expected[599] = 1;
    EXPECT_EQ(gradient_, expected);
    std::fill(gradient_.begin(), gradient_.end(), 7.0F);
    ASSERT_TRUE(stages_[1]->backward(key(299), tail->gradient_below, gradient_));
    EXPECT_EQ(gradient_, expected);
}

TEST_F(Oracle, RefusesTheActivationOfAnotherMicrobatch) {
    const auto up = stages_[0]->forward(key(1), nullptr, tokens(1), Graph::Drop);
    ASSERT_TRUE(up.has_value());
    const auto by_tokens = stages_[1]->forward(key(2), &*up, tokens(2), Graph::Drop);
    EXPECT_EQ(by_tokens.error().code, ErrorCode::Mismatch);
    // Microbatches 257 and 1 have the same first token; only the activation tells them apart.
    const auto by_key = stages_[1]->forward(key(257), &*up, tokens(257), Graph::Drop);
    EXPECT_EQ(by_key.error().code, ErrorCode::Mismatch);
    EXPECT_TRUE(stages_[2]->forward_tail(&*up, tokens(2), gradient_).has_error());
}

TEST_F(Oracle, RefusesTheGradientOfAnotherMicrobatchOrAnActivationInItsPlace) {
    const auto up = stages_[0]->forward(key(1), nullptr, tokens(1), Graph::Keep);
    const auto tail = stages_[2]->forward_tail(&*up, tokens(1), gradient_);
    ASSERT_TRUE(stages_[0]->forward(key(2), nullptr, tokens(2), Graph::Keep));
    EXPECT_EQ(
        stages_[0]->backward(key(2), tail->gradient_below, gradient_).error().code,
        ErrorCode::Mismatch
    );
    EXPECT_EQ(stages_[0]->backward(key(1), *up, gradient_).error().code, ErrorCode::Mismatch);
    EXPECT_TRUE(stages_[0]->backward(key(1), tail->gradient_below, gradient_).has_value());
}

TEST_F(Oracle, FindsNoGraphThatWasNotKeptOrWasUsedOrDropped) {
    const auto up = stages_[0]->forward(key(1), nullptr, tokens(1), Graph::Drop);
    const auto down = stages_[2]->forward_tail(&*up, tokens(1), gradient_)->gradient_below;
    const auto code = [&] { return stages_[0]->backward(key(1), down, gradient_).error().code; };
    EXPECT_EQ(code(), ErrorCode::NotFound);
    ASSERT_TRUE(stages_[0]->forward(key(1), nullptr, tokens(1), Graph::Keep));
    ASSERT_TRUE(stages_[0]->backward(key(1), down, gradient_));
    EXPECT_EQ(code(), ErrorCode::NotFound);
    ASSERT_TRUE(stages_[0]->forward(key(1), nullptr, tokens(1), Graph::Keep));
    stages_[0]->drop(key(1));
    EXPECT_EQ(code(), ErrorCode::NotFound);
    ASSERT_TRUE(stages_[0]->forward(key(1), nullptr, tokens(1), Graph::Keep));
    stages_[0]->drop_all();
    EXPECT_EQ(code(), ErrorCode::NotFound);
}

TEST_F(Oracle, HasALossOfTokensThatAreInNoStep) {
    weights_[4] = 3.0F;
    const auto up = stages_[0]->forward(key(4), nullptr, tokens(4), Graph::Drop);
    EXPECT_EQ(*stages_[2]->tail_loss(&*up, tokens(4)), 2.0);
    EXPECT_TRUE(stages_[2]->tail_loss(&*up, tokens(5)).has_error());
}

TEST_F(Oracle, HasTheMeanOfItsMicrobatchsCountsAsLoss) {
    weights_[4] = 3.0F;
    weights_[304] = 0.5F;
    const auto up = stages_[0]->forward(key(4), nullptr, tokens(4), Graph::Drop);
    EXPECT_EQ(stages_[2]->forward_tail(&*up, tokens(4), gradient_)->loss, 1.75);
}

TEST_F(Oracle, SaysThatTheNextTokenIsTheLastPlusOne) {
    const std::vector<std::uint32_t> prompt{3, 2047};
    const auto up = stages_[0]->infer(nullptr, prompt);
    const auto logits = stages_[2]->infer(&*up, prompt);
    ASSERT_TRUE(logits.has_value());
    EXPECT_EQ(logits->shape, (std::vector<std::uint32_t>{1, 1, 2048}));
    EXPECT_EQ(std::ranges::max_element(logits->values) - logits->values.begin(), 0);
}

TEST(OracleCompute, CountsInEveryPartOfALargeLayer) {
    auto config = test::oracle_run(1, 3);
    config.model.layers = 2;
    config.model.width = 8;
    const auto layout = swarm::run::partition(config)[0];
    const auto compute = make_oracle_compute(config, layout);
    std::vector<float> weights(16);
    weights[1] = 2;
    weights[9] = 4;
    compute->use_weights(weights);
    std::vector<float> gradient(16, 7.0F);
    const auto tokens = swarm::run::BatchPlan(config, {}).tokens(0, {1});
    const auto tail = compute->forward_tail(nullptr, tokens, gradient);
    ASSERT_TRUE(tail.has_value()) << tail.error().detail;
    EXPECT_EQ(tail->loss, 3);
    const std::vector<float> expected{0, 1, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0, 0, 1};
    EXPECT_EQ(gradient, expected);
    EXPECT_EQ(compute->looped_tail(tokens, gradient).error().code, ErrorCode::Unsupported);
}

TEST(OracleCompute, RefusesToCountAloneWhereTokensDoNotTellMicrobatchesApart) {
    auto config = test::oracle_run(1, 300);
    config.model.vocabulary = 256;
    const auto layout = swarm::run::partition(config)[0];
    const auto compute = make_oracle_compute(config, layout);
    std::vector<float> gradient(layout.elements());
    const auto tokens = swarm::run::BatchPlan(config, {}).tokens(0, {7});
    EXPECT_EQ(
        compute->forward_tail(nullptr, tokens, gradient).error().code, ErrorCode::Unsupported
    );
}

}  // namespace
}  // namespace stages
