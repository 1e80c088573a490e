// Splits, kept graphs, repeats and places in memory leave no trace in the bits. The exactness of a
// run rests on that.
#include "stages/torch/make_llama.hpp"
#include "tests/torch/tiny_llama.hpp"

#include <gtest/gtest.h>

#include <ATen/Parallel.h>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <utility>

using stages::StageTensor;
using swarm::run::RunConfig;

namespace {

/// A gradient by the output of the first stage of two.
StageTensor output_gradient(const RunConfig& config, std::uint64_t seed) {
    const auto& model = config.model;
    std::vector<float> values;
    for (const std::uint32_t token :
         random_tokens(config, seed, config.batch * model.context * model.width)) {
        values.push_back(static_cast<float>(token) / 16 - 0.25F);
    }
    return host_tensor({config.batch, model.context, model.width}, values);
}

struct BackwardOutcome {
    std::vector<float> gradient_below;
    std::vector<float> gradient;

    friend bool operator==(const BackwardOutcome&, const BackwardOutcome&) = default;
};

/// The middle stage of three; each microbatch has an input of its own.
class MiddleStage : public testing::Test {
 protected:
    void forward(std::uint32_t m, std::uint64_t attempt = 1) {
        const StageTensor input = output_gradient(config_, 100 + 10 * m + attempt);
        take(middle().forward(graph_key(m, attempt), &input, {}, stages::Graph::Keep));
    }

    BackwardOutcome backward(std::uint32_t m, std::uint64_t attempt = 1) {
        BackwardOutcome outcome{{}, std::vector<float>(chain_.elements(1))};
        outcome.gradient_below = tensor_values(take(
            middle().backward(graph_key(m, attempt), output_gradient(config_, m), outcome.gradient)
        ));
        return outcome;
    }

    BackwardOutcome alone(std::uint32_t m, std::uint64_t attempt = 1) {
        forward(m, attempt);
        return backward(m, attempt);
    }

    stages::StageCompute& middle() { return chain_.stage(1); }

    RunConfig config_ = tiny_config(3);
    std::vector<float> weights_ = random_weights(config_, 1);
    Chain chain_{config_, weights_};
};

}  // namespace

TEST(LlamaCompute, IsBitEqualHoweverTheModelIsSplit) {
    const auto weights = random_weights(tiny_config(), 1);
    const auto tokens = random_batch(tiny_config(), 2);
    const auto whole = Chain(tiny_config(1), weights).train(tokens);
    EXPECT_EQ(Chain(tiny_config(2), weights).train(tokens), whole);
    EXPECT_EQ(Chain(tiny_config(3), weights).train(tokens), whole);
}

TEST(LlamaCompute, InfersTheSameLogitsHoweverTheModelIsSplit) {
    const auto weights = random_weights(tiny_config(), 1);
    const auto tokens = random_tokens(tiny_config(), 2, 4);
    const auto whole = Chain(tiny_config(1), weights).infer(tokens);
    EXPECT_EQ(whole.size(), tiny_config().model.vocabulary);
    EXPECT_EQ(Chain(tiny_config(2), weights).infer(tokens), whole);
    EXPECT_EQ(Chain(tiny_config(3), weights).infer(tokens), whole);
}

TEST(LlamaCompute, HasTheSameLossWithAndWithoutGradients) {
    const auto weights = random_weights(tiny_config(), 1);
    const auto tokens = random_batch(tiny_config(), 2);
    Chain one(tiny_config(1), weights);
    const double loss = one.train(tokens).loss;
    EXPECT_EQ(take(one.stage(0).tail_loss(nullptr, tokens)), loss);
    Chain two(tiny_config(2), weights);
    const StageTensor up =
        take(two.stage(0).forward(graph_key(0), nullptr, tokens, stages::Graph::Drop));
    EXPECT_EQ(take(two.stage(1).tail_loss(&up, tokens)), loss);
    EXPECT_EQ(two.train(tokens).loss, loss);
    EXPECT_TRUE(two.stage(0).tail_loss(nullptr, tokens).has_error());
}

TEST(LlamaCompute, RepeatsItselfBitForBit) {
    const auto weights = random_weights(tiny_config(), 1);
    const auto tokens = random_batch(tiny_config(), 2);
    Chain chain(tiny_config(2), weights);
    const auto first = chain.train(tokens);
    chain.train(random_batch(tiny_config(), 3));
    chain.infer(random_tokens(tiny_config(), 4, 3));
    EXPECT_EQ(chain.train(tokens), first);
    EXPECT_NE(chain.train(random_batch(tiny_config(), 3)), first);
}

TEST(LlamaCompute, DoesNotCareWhereInMemoryTheWeightsLie) {
    const RunConfig config = tiny_config(1);
    const auto weights = random_weights(config, 1);
    const auto prompt = random_tokens(config, 2, 1);
    const auto tokens = random_batch(config, 3);
    const auto expected = Chain(config, weights).infer(prompt);
    const auto trained = Chain(config, weights).train(tokens);
    for (std::size_t offset = 0; offset < 16; ++offset) {
        std::vector<float> moved(offset);
        moved.insert(moved.end(), weights.begin(), weights.end());
        Chain chain(config, std::span<const float>(moved).subspan(offset));
        EXPECT_EQ(chain.infer(prompt), expected) << "offset " << offset;
        EXPECT_EQ(chain.train(tokens), trained) << "offset " << offset;
    }
}

TEST(LlamaCompute, UsesTheWeightsItWasGivenLast) {
    const RunConfig config = tiny_config(2);
    const auto first = random_weights(config, 1);
    const auto second = random_weights(config, 2);
    const auto tokens = random_batch(config, 3);
    Chain chain(config, first);
    const auto by_first = chain.train(tokens);
    chain.use_weights(second);
    EXPECT_EQ(chain.train(tokens), Chain(config, second).train(tokens));
    chain.use_weights(first);
    EXPECT_EQ(chain.train(tokens), by_first);
}

TEST(LlamaCompute, NamesWhatItsBitsDependOn) {
    const RunConfig config = tiny_config();
    const auto compute =
        take(stages::torch_backend::make_llama_compute(config, whole_layout(config), "cpu"));
    const std::string name = compute->compute_class();
    EXPECT_EQ(name.substr(0, 4), "cpu ") << name;
    EXPECT_NE(name.find(" 1 thread LibTorch 2."), std::string::npos) << name;
}

/// A model of one layer whose products are large enough for LibTorch to split them.
RunConfig splittable_config() {
    RunConfig config = tiny_config();
    config.batch = 4;
    config.model = {
        .kind = swarm::run::ModelKind::Llama,
        .layers = 1,
        .width = 256,
        .heads = 4,
        .kv_heads = 4,
        .ffn_width = 512,
        .vocabulary = 300,
        .context = 64};
    return config;
}

TEST(LlamaCompute, GivesTheSameBitsEachTimeWithAsManyThreads) {
    const RunConfig config = splittable_config();
    const auto weights = random_weights(config, 5);
    const auto tokens = random_batch(config, 6);
    const auto train = [&](std::uint32_t threads) {
        const auto layout = whole_layout(config);
        const auto stage =
            take(stages::torch_backend::make_llama_compute(config, layout, "cpu", threads));
        stage->use_weights(weights);
        std::vector<float> gradient(layout.elements());
        const double loss = take(stage->forward_tail(nullptr, tokens, gradient)).loss;
        EXPECT_EQ(at::get_num_threads(), static_cast<int>(threads));
        return std::pair(loss, gradient);
    };
    for (const std::uint32_t threads : {1U, 2U, 3U}) {
        const auto first = train(threads);
        EXPECT_TRUE(std::isfinite(first.first));
        for (int round = 0; round < 5; ++round) {
            // The stages of a process may have another number; they take turns on its thread.
            static_cast<void>(train(threads % 3 + 1));
            EXPECT_EQ(train(threads), first) << threads << " threads";
        }
    }
}

TEST(LlamaCompute, NamesItsThreads) {
    const RunConfig config = tiny_config();
    const auto compute =
        take(stages::torch_backend::make_llama_compute(config, whole_layout(config), "cpu", 2));
    const std::string name = compute->compute_class();
    EXPECT_NE(name.find(" 2 threads LibTorch 2."), std::string::npos) << name;
}

/// Sets a variable of the environment and removes it at the end.
class Setting {
 public:
    Setting(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }

    Setting(const Setting&) = delete;
    Setting& operator=(const Setting&) = delete;

    ~Setting() { ::unsetenv(name_); }

 private:
    const char* name_;
};

TEST(LlamaCompute, RefusesThreadsThatTheEnvironmentForbids) {
    const RunConfig config = tiny_config();
    const auto refusal = [&](const char* name, const char* value, std::uint32_t threads) {
        const Setting setting(name, value);
        const auto made =
            stages::torch_backend::make_llama_compute(config, whole_layout(config), "cpu", threads);
        return made ? std::string() : made.error().detail;
    };
    EXPECT_EQ(
        refusal("OMP_THREAD_LIMIT", "3", 4),
        "OMP_THREAD_LIMIT bounds the threads of LibTorch below --threads 4: unset it, or ask for "
        "fewer"
    );
    EXPECT_NE(refusal("OMP_DYNAMIC", "true", 2), "");
    EXPECT_EQ(refusal("OMP_DYNAMIC", "false", 2), "");
    EXPECT_EQ(refusal("OMP_THREAD_LIMIT", "3", 3), "");
    EXPECT_EQ(refusal("OMP_THREAD_LIMIT", "3", 1), "");
}

TEST_F(MiddleStage, KeepsGraphsApart) {
    const auto one = alone(1);
    const auto two = alone(2);
    const auto three = alone(3);
    forward(1);
    forward(2);
    forward(3);
    EXPECT_EQ(backward(2), two);
    EXPECT_EQ(backward(3), three);
    EXPECT_EQ(backward(1), one);
    EXPECT_NE(one, two);
}

TEST_F(MiddleStage, TellsAttemptsOfOneMicrobatchApart) {
    const auto first = alone(1, 1);
    const auto second = alone(1, 2);
    forward(1, 1);
    forward(1, 2);
    EXPECT_EQ(backward(1, 1), first);
    EXPECT_EQ(backward(1, 2), second);
    EXPECT_NE(first, second);
}

TEST_F(MiddleStage, ForwardWithoutGraphGivesTheSameBits) {
    const StageTensor input = output_gradient(config_, 1);
    const auto kept =
        tensor_values(take(middle().forward(graph_key(1), &input, {}, stages::Graph::Keep)));
    EXPECT_EQ(
        tensor_values(take(middle().forward(graph_key(2), &input, {}, stages::Graph::Drop))), kept
    );
    std::vector<float> gradient(chain_.elements(1));
    const auto by_output = output_gradient(config_, 2);
    EXPECT_TRUE(middle().backward(graph_key(1), by_output, gradient));
    EXPECT_FALSE(middle().backward(graph_key(2), by_output, gradient));
}

TEST_F(MiddleStage, KeepsItsInputAndOutputAliveWithoutTheCaller) {
    const auto expected = alone(1);
    forward(1);  // its input is gone when the call returns
    const StageTensor input = output_gradient(config_, 50);
    const StageTensor output =
        take(middle().forward(graph_key(2), &input, {}, stages::Graph::Keep));
    const auto values = tensor_values(output);
    EXPECT_EQ(backward(1), expected);
    middle().drop_all();
    EXPECT_EQ(tensor_values(output), values);
}

TEST_F(MiddleStage, ANewForwardReplacesTheGraphOfItsKey) {
    const auto expected = alone(1);
    const StageTensor other = output_gradient(config_, 50);
    take(middle().forward(graph_key(1), &other, {}, stages::Graph::Keep));
    EXPECT_EQ(alone(1), expected);
}

TEST_F(MiddleStage, MeasuresItsGraphs) {
    EXPECT_EQ(middle().graph_bytes(), 0U) << "nothing ran yet";
    forward(1);
    // A graph holds at least the layer's normalised inputs, queries, attention and two halves of
    // the MLP.
    const auto& model = config_.model;
    const std::uint64_t values =
        std::uint64_t{config_.batch} * model.context * (4 * model.width + 2 * model.ffn_width);
    const std::uint64_t measured = middle().graph_bytes();
    EXPECT_GE(measured, values * sizeof(float));
    EXPECT_LE(measured, 8 * values * sizeof(float));
    forward(2);
    EXPECT_EQ(middle().graph_bytes(), measured);
}

TEST_F(MiddleStage, AGraphComputedAgainGivesTheSameBits) {
    const BackwardOutcome first = alone(1);
    forward(1);
    forward(2);
    middle().drop(graph_key(1));
    forward(1);
    EXPECT_EQ(backward(1), first);
}

TEST_F(MiddleStage, HasNoGraphAfterDropBackwardOrNewWeights) {
    std::vector<float> gradient(chain_.elements(1));
    const auto by_output = output_gradient(config_, 2);
    const auto found = [&](std::uint32_t m) {
        const auto result = middle().backward(graph_key(m), by_output, gradient);
        return result.has_value() || result.error().code != swarm::ErrorCode::NotFound;
    };
    alone(1);
    EXPECT_FALSE(found(1)) << "after backward";
    forward(2);
    middle().drop(graph_key(2));
    EXPECT_FALSE(found(2)) << "after drop";
    forward(3);
    middle().drop_all();
    EXPECT_FALSE(found(3)) << "after drop_all";
    forward(4);
    chain_.use_weights(weights_);
    EXPECT_FALSE(found(4)) << "after use_weights";
}
