#include "stages/server/inference_relay.hpp"

#include "tests/unit/stages/questions/relay_peers.hpp"
#include "tests/unit/stages/server_bed.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace stages {
namespace {

using namespace std::chrono_literals;
using test::bodies;
using test::kAbove;
using test::kSelf;
using test::kStart;

constexpr PeerId kClient{{60}};

/// The compute of a tail whose logits a test chooses.
class ChosenLogits final : public StageCompute {
 public:
    explicit ChosenLogits(std::vector<float> logits) : logits_(std::move(logits)) {}

    void use_weights(std::span<const float>) override {}

    Result<StageTensor> forward(GraphKey, const StageTensor*, std::span<const std::uint32_t>, Graph)
        override {
        return tensor();
    }

    Result<TailOutput>
    forward_tail(const StageTensor*, std::span<const std::uint32_t>, std::span<float>) override {
        return TailOutput{};
    }

    Result<double> tail_loss(const StageTensor*, std::span<const std::uint32_t>) override {
        return 0.0;
    }

    Result<StageTensor> backward(GraphKey, const StageTensor&, std::span<float>) override {
        return tensor();
    }

    void drop(GraphKey) override {}

    void drop_all() override {}

    [[nodiscard]] std::uint64_t graph_bytes() const override { return 0; }

    Result<StageTensor> infer(const StageTensor*, std::span<const std::uint32_t>) override {
        return tensor();
    }

    [[nodiscard]] std::string compute_class() const override { return "chosen"; }

 private:
    [[nodiscard]] StageTensor tensor() const {
        return make_host_tensor({static_cast<std::uint32_t>(logits_.size())}, logits_);
    }

    std::vector<float> logits_;
};

class InferenceRelayTest : public testing::Test {
 protected:
    static swarm::run::RunConfig config(std::uint32_t stages) { return test::small_run(stages); }

    /// Relays of the only stage of a run, with chosen logits.
    void be_tail(std::vector<float> logits) {
        bed_.context.worker = std::make_shared<StageWorker>(
            config(1), bed_.context.layout, std::make_unique<ChosenLogits>(std::move(logits))
        );
        bed_.context.worker->start_from_seed();
    }

    std::vector<node::Send> take(protocol::Infer infer, std::optional<PeerId> next = {}) {
        relay_.take(kClient, infer, {}, next, bed_.at());
        return bed_.settle();
    }

    static protocol::Infer question(std::uint32_t top) { return {9, {1, 2}, top}; }

    protocol::Inferred ask_tail(std::uint32_t top) {
        const auto answers = bodies<protocol::Inferred>(take(question(top)), kClient);
        EXPECT_EQ(answers.size(), 1U);
        return answers.empty() ? protocol::Inferred{} : answers[0];
    }

    test::Bed bed_{kSelf, config(1), 0};
    InferenceRelay relay_{bed_.context};
};

TEST_F(InferenceRelayTest, GivesTheLikeliestTokensBestFirst) {
    be_tail({0, 3, 1, 2});
    const auto answer = ask_tail(3);
    EXPECT_EQ(answer.request, 9U);
    EXPECT_FALSE(answer.refused);
    ASSERT_EQ(answer.top.size(), 3U);
    EXPECT_EQ(answer.top[0].token, 1U);
    EXPECT_EQ(answer.top[1].token, 3U);
    EXPECT_EQ(answer.top[2].token, 2U);
}

TEST_F(InferenceRelayTest, GivesLogProbabilities) {
    be_tail({1000, 1001, 999});
    double sum = 0;
    for (const protocol::TokenScore& score : ask_tail(3).top) {
        sum += std::exp(score.log_probability);
    }
    EXPECT_NEAR(sum, 1, 1e-7);
}

TEST_F(InferenceRelayTest, OrdersEqualTokensById) {
    be_tail({5, 5, 5});
    const auto answer = ask_tail(2);
    ASSERT_EQ(answer.top.size(), 2U);
    EXPECT_EQ(answer.top[0].token, 0U);
    EXPECT_EQ(answer.top[1].token, 1U);
}

TEST_F(InferenceRelayTest, GivesAtLeastOneTokenAndNoMoreThanThereAre) {
    be_tail({1, 2});
    EXPECT_EQ(ask_tail(0).top.size(), 1U);
    EXPECT_EQ(ask_tail(64).top.size(), 2U);
}

TEST_F(InferenceRelayTest, RefusesLogitsThatAreNotFinite) {
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        be_tail({1, bad, 2});
        const auto answer = ask_tail(2);
        EXPECT_TRUE(answer.refused);
        EXPECT_TRUE(answer.top.empty());
    }
}

TEST_F(InferenceRelayTest, RefusesARequestThatItCannotCompute) {
    be_tail({1, 2});
    for (const protocol::Infer& infer :
         {protocol::Infer{9, {}, 1},
          protocol::Infer{9, std::vector<std::uint32_t>(5, 1), 1},
          protocol::Infer{9, {256}, 1}}) {
        const auto answers = bodies<protocol::Inferred>(take(infer), kClient);
        ASSERT_EQ(answers.size(), 1U);
        EXPECT_TRUE(answers[0].refused);
        EXPECT_EQ(answers[0].request, 9U);
    }
}

TEST_F(InferenceRelayTest, AnswersAsTheTailThatTookTheRequest) {
    be_tail({0, 3, 1, 2});
    relay_.take(kClient, question(1), {}, {}, bed_.at());
    bed_.context.layout.has_head = false;  // the server moves to another stage meanwhile
    const auto answers = bodies<protocol::Inferred>(bed_.settle(), kClient);
    ASSERT_EQ(answers.size(), 1U);
    ASSERT_EQ(answers[0].top.size(), 1U);
    EXPECT_EQ(answers[0].top[0].token, 1U);
}

class MiddleRelayTest : public InferenceRelayTest {
 protected:
    MiddleRelayTest() {
        bed_.context.config = config(2);
        bed_.context.layout = swarm::run::partition(config(2))[0];
        bed_.context.worker = test::make_worker(config(2), test::make_noise_compute, 0);
    }

    /// The request as it went up.
    protocol::Infer pass_up() {
        const auto passed = bodies<protocol::Infer>(take(question(3), kAbove), kAbove);
        EXPECT_EQ(passed.size(), 1U);
        return passed.empty() ? protocol::Infer{} : passed[0];
    }

    std::vector<protocol::Inferred> answer(PeerId from, std::uint64_t request) {
        relay_.on(from, protocol::Inferred{request, false, {{7, -1}}}, bed_.at());
        return bodies<protocol::Inferred>(bed_.settle(), kClient);
    }
};

TEST_F(MiddleRelayTest, PassesTheQuestionUpAndTheAnswerBack) {
    const auto passed = pass_up();
    EXPECT_EQ(passed.tokens, question(3).tokens);
    EXPECT_EQ(passed.top, 3U);
    const auto answers = answer(kAbove, passed.request);
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_EQ(answers[0].request, 9U);
    EXPECT_EQ(answers[0].top.at(0).token, 7U);
}

TEST_F(MiddleRelayTest, AnswersOnce) {
    const auto passed = pass_up();
    answer(kAbove, passed.request);
    EXPECT_TRUE(answer(kAbove, passed.request).empty());
}

TEST_F(MiddleRelayTest, TakesAnAnswerFromNobodyElse) {
    const auto passed = pass_up();
    EXPECT_TRUE(answer(kClient, passed.request).empty());
}

TEST_F(MiddleRelayTest, RefusesWithoutAPeerAbove) {
    const auto answers = bodies<protocol::Inferred>(take(question(1)), kClient);
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_TRUE(answers[0].refused);
}

TEST_F(MiddleRelayTest, RefusesWhenThePeerAboveIsLost) {
    pass_up();
    relay_.peer_lost(kAbove, bed_.at());
    const auto answers = bodies<protocol::Inferred>(bed_.settle(), kClient);
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_TRUE(answers[0].refused);
    EXPECT_EQ(relay_.next_deadline(), swarm::kNever);
}

TEST_F(MiddleRelayTest, RefusesAfterThirtySeconds) {
    pass_up();
    ASSERT_EQ(relay_.next_deadline(), kStart + 30s);
    relay_.wake(bed_.at(kStart + 30s));
    EXPECT_TRUE(bodies<protocol::Inferred>(bed_.settle(), kClient).at(0).refused);
}

TEST_F(MiddleRelayTest, RefusesMoreThanItsBound) {
    for (std::size_t i = 0; i < swarm::protocol::kInferencesMax; ++i) {
        EXPECT_EQ(bodies<protocol::Infer>(take(question(1), kAbove), kAbove).size(), 1U);
    }
    const auto answers = bodies<protocol::Inferred>(take(question(1), kAbove), kClient);
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_TRUE(answers[0].refused);
}

}  // namespace
}  // namespace stages
