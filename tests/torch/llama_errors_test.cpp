// Mistakes of a peer, a file or a person end in an Error, and the stage goes on.
#include "stages/torch/make_llama.hpp"
#include "tests/torch/tiny_llama.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <optional>

using stages::StageTensor;
using stages::torch_backend::make_llama_compute;
using swarm::ErrorCode;
using swarm::run::RunConfig;

namespace {

template <class T>
std::optional<ErrorCode> code_of(const stages::Result<T>& result) {
    return result.has_value() ? std::nullopt : std::optional(result.error().code);
}

class LlamaErrors : public testing::Test {
 protected:
    StageTensor activation(float value, std::uint32_t width = 16) const {
        const std::vector<std::uint32_t> shape{config_.batch, config_.model.context, width};
        return host_tensor(shape, std::vector<float>(shape[0] * shape[1] * shape[2], value));
    }

    stages::StageCompute& first() { return chain_.stage(0); }

    stages::StageCompute& last() { return chain_.stage(1); }

    RunConfig config_ = tiny_config(2);
    std::vector<float> weights_ = random_weights(config_, 1);
    std::vector<std::uint32_t> tokens_ = random_batch(config_, 2);
    Chain chain_{config_, weights_};
    std::vector<float> first_gradient_ = std::vector<float>(chain_.elements(0));
    std::vector<float> last_gradient_ = std::vector<float>(chain_.elements(1));
};

}  // namespace

TEST_F(LlamaErrors, RefusesATokenBeyondTheVocabulary) {
    tokens_[3] = config_.model.vocabulary;
    const StageTensor x = activation(1);
    EXPECT_EQ(
        code_of(first().forward(graph_key(1), nullptr, tokens_, stages::Graph::Keep)),
        ErrorCode::Malformed
    );
    EXPECT_EQ(code_of(last().forward_tail(&x, tokens_, last_gradient_)), ErrorCode::Malformed);
    EXPECT_EQ(code_of(first().infer(nullptr, std::span(tokens_).first(5))), ErrorCode::Malformed);
    tokens_[3] = std::numeric_limits<std::uint32_t>::max();
    EXPECT_EQ(
        code_of(first().forward(graph_key(1), nullptr, tokens_, stages::Graph::Keep)),
        ErrorCode::Malformed
    );
}

TEST_F(LlamaErrors, RefusesAWrongNumberOfTokens) {
    const StageTensor x = activation(1);
    tokens_.pop_back();
    EXPECT_EQ(
        code_of(first().forward(graph_key(1), nullptr, tokens_, stages::Graph::Keep)),
        ErrorCode::Mismatch
    );
    EXPECT_EQ(code_of(last().forward_tail(&x, tokens_, last_gradient_)), ErrorCode::Mismatch);
    EXPECT_EQ(code_of(last().forward_tail(&x, {}, last_gradient_)), ErrorCode::Mismatch);
}

TEST_F(LlamaErrors, RefusesAWindowOfNoTokenOrOfMoreThanTheContext) {
    const auto longer = random_tokens(config_, 1, config_.model.context + 1);
    EXPECT_EQ(code_of(first().infer(nullptr, longer)), ErrorCode::Mismatch);
    EXPECT_EQ(code_of(first().infer(nullptr, {})), ErrorCode::Mismatch);
    const StageTensor none = host_tensor({1, 0, 16}, {});
    EXPECT_EQ(code_of(last().infer(&none, {})), ErrorCode::Mismatch);
}

TEST_F(LlamaErrors, RefusesAnActivationOfAnotherShape) {
    const StageTensor narrow = activation(1, 15);
    EXPECT_EQ(code_of(last().forward_tail(&narrow, tokens_, last_gradient_)), ErrorCode::Mismatch);
    StageTensor flat = activation(1);
    flat.shape = {static_cast<std::uint32_t>(flat.values.size())};
    EXPECT_EQ(code_of(last().forward_tail(&flat, tokens_, last_gradient_)), ErrorCode::Mismatch);
    EXPECT_EQ(code_of(last().infer(&flat, {})), ErrorCode::Mismatch);
    StageTensor short_of_values = activation(1);
    short_of_values.values = short_of_values.values.first(7);
    EXPECT_EQ(
        code_of(last().forward_tail(&short_of_values, tokens_, last_gradient_)), ErrorCode::Mismatch
    );
}

TEST_F(LlamaErrors, RefusesACallForAnotherStage) {
    const StageTensor x = activation(1);
    EXPECT_EQ(
        code_of(first().forward(graph_key(1), &x, tokens_, stages::Graph::Keep)),
        ErrorCode::Mismatch
    );
    EXPECT_EQ(
        code_of(first().forward_tail(nullptr, tokens_, first_gradient_)), ErrorCode::Mismatch
    );
    EXPECT_EQ(
        code_of(last().forward(graph_key(1), &x, tokens_, stages::Graph::Keep)), ErrorCode::Mismatch
    );
    EXPECT_EQ(code_of(last().forward_tail(nullptr, tokens_, last_gradient_)), ErrorCode::Mismatch);
    EXPECT_EQ(code_of(last().infer(nullptr, tokens_)), ErrorCode::Mismatch);
}

TEST_F(LlamaErrors, RefusesAValueThatIsNotFinite) {
    const StageTensor not_a_number = activation(std::numeric_limits<float>::quiet_NaN());
    const StageTensor infinite = activation(-std::numeric_limits<float>::infinity());
    EXPECT_EQ(
        code_of(last().forward_tail(&not_a_number, tokens_, last_gradient_)), ErrorCode::NotFinite
    );
    EXPECT_EQ(
        code_of(last().forward_tail(&infinite, tokens_, last_gradient_)), ErrorCode::NotFinite
    );
}

TEST_F(LlamaErrors, RefusesWeightsThatGrewBeyondFloat) {
    for (float& weight : weights_) {
        weight *= std::numeric_limits<float>::infinity();
    }
    chain_.use_weights(weights_);
    EXPECT_EQ(
        code_of(first().forward(graph_key(1), nullptr, tokens_, stages::Graph::Keep)),
        ErrorCode::NotFinite
    );
    const StageTensor x = activation(1);
    EXPECT_EQ(code_of(last().forward_tail(&x, tokens_, last_gradient_)), ErrorCode::NotFinite);
}

TEST_F(LlamaErrors, RefusesABackwardWithoutAForward) {
    EXPECT_EQ(
        code_of(first().backward(graph_key(9), activation(1), first_gradient_)), ErrorCode::NotFound
    );
}

TEST_F(LlamaErrors, ARefusedGradientLeavesTheGraphForTheRightOne) {
    take(first().forward(graph_key(1), nullptr, tokens_, stages::Graph::Keep));
    EXPECT_EQ(
        code_of(first().backward(graph_key(1), activation(1, 15), first_gradient_)),
        ErrorCode::Mismatch
    );
    const auto below = first().backward(graph_key(1), activation(1), first_gradient_);
    ASSERT_TRUE(below.has_value());
    EXPECT_TRUE(below->values.empty()) << "the stage with the embedding has nobody below";
}

TEST_F(LlamaErrors, GoesOnAfterAnError) {
    const auto expected = chain_.train(tokens_);
    auto bad = tokens_;
    bad[0] = 1000;
    EXPECT_FALSE(first().forward(graph_key(1), nullptr, bad, stages::Graph::Keep).has_value());
    EXPECT_EQ(chain_.train(tokens_), expected);
}

TEST(MakeLlama, RefusesALayoutOfAnotherModel) {
    const RunConfig config = tiny_config();
    const auto good = whole_layout(config);
    const auto code = [&](auto change) {
        auto layout = good;
        change(layout);
        return code_of(make_llama_compute(config, layout));
    };
    EXPECT_EQ(code([](auto&) {}), std::nullopt);
    EXPECT_EQ(code([](auto& l) { l.tensors.pop_back(); }), ErrorCode::Mismatch);
    EXPECT_EQ(code([](auto& l) { l.tensors[3].shape[0] += 1; }), ErrorCode::Mismatch);
    EXPECT_EQ(code([](auto& l) { l.tensors[3].name = "layers.0.attn.q"; }), ErrorCode::Mismatch);
    EXPECT_EQ(code([](auto& l) { l.tensors.push_back({"bias", {3}}); }), ErrorCode::Mismatch);
}

TEST(MakeLlama, RefusesHeadsThatDoNotDivideTheWidth) {
    RunConfig config = tiny_config();
    const auto layout = whole_layout(config);
    config.model.heads = 3;
    EXPECT_EQ(code_of(make_llama_compute(config, layout)), ErrorCode::Mismatch);
    config.model.heads = 0;
    EXPECT_EQ(code_of(make_llama_compute(config, layout)), ErrorCode::Mismatch);
}

TEST(MakeLlama, RefusesAnUnknownDevice) {
    const RunConfig config = tiny_config();
    for (const char* device : {"", "gpu", "cuda", "cuda:", "cuda:x", "cuda:-1", "cuda:1x"}) {
        EXPECT_EQ(
            code_of(make_llama_compute(config, whole_layout(config), device)), ErrorCode::Usage
        ) << device;
    }
}

TEST(MakeLlama, SaysInOneLineWhyThereIsNoSuchGpu) {
    const RunConfig config = tiny_config();
    const auto made = make_llama_compute(config, whole_layout(config), "cuda:63");
    ASSERT_FALSE(made.has_value());
    EXPECT_EQ(made.error().code, ErrorCode::Unsupported);
    EXPECT_NE(made.error().detail.find("cuda:63"), std::string::npos) << made.error().detail;
    EXPECT_EQ(made.error().detail.find('\n'), std::string::npos) << made.error().detail;
}

TEST(MakeLlama, AutoAlwaysFindsADevice) {
    const RunConfig config = tiny_config();
    EXPECT_TRUE(make_llama_compute(config, whole_layout(config), "auto").has_value());
}
