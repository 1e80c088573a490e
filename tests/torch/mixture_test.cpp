// Mixtures of experts as a training stage computes them. What transformers computes is compared in
// trained_families_test.cpp.
#include "swarm/run/training/mixture.hpp"

#include "tests/torch/tiny_llama.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

namespace {

using swarm::run::ModelKind;
using swarm::run::RunConfig;

using Tensors = std::map<std::string, std::vector<float>>;

RunConfig mixed_config(std::uint32_t experts, std::uint32_t per_token, std::uint32_t stages = 1) {
    RunConfig config = tiny_config(stages);
    config.model.kind = ModelKind::Mixtral;
    config.model.experts = experts;
    config.model.experts_per_token = per_token;
    return config;
}

Tensors by_name(const RunConfig& config, const std::vector<float>& values) {
    Tensors named;
    auto at = values.begin();
    for (const auto& tensor : whole_layout(config).tensors) {
        const auto end = at + static_cast<std::ptrdiff_t>(tensor.elements());
        named.emplace(tensor.name, std::vector<float>(at, end));
        at = end;
    }
    return named;
}

std::vector<float> joined(const RunConfig& config, const Tensors& named) {
    std::vector<float> values;
    for (const auto& tensor : whole_layout(config).tensors) {
        const auto& own = named.at(tensor.name);
        values.insert(values.end(), own.begin(), own.end());
    }
    return values;
}

/// The weights of a mixture whose experts are all the feed-forward part of the Llama.
Tensors mixture_of_copies(const RunConfig& config, const Tensors& llama) {
    Tensors mixed = by_name(config, random_weights(config, 9));
    for (auto& [name, values] : mixed) {
        const std::size_t at = name.find("moe.");
        if (at == std::string::npos) {
            values = llama.at(name);
        } else if (swarm::run::is_expert(name)) {
            values = llama.at(name.substr(0, at) + "mlp" + name.substr(name.find('.', at + 4)));
        }
    }
    return mixed;
}

TEST(Mixture, OfOneMemberIsThatMember) {
    const RunConfig plain = tiny_config(1);
    const RunConfig config = mixed_config(1, 1);
    const std::vector<float> weights = random_weights(plain, 1);
    const Tensors mixed = mixture_of_copies(config, by_name(plain, weights));
    const auto batch = random_batch(plain, 3);
    Chain member(plain, weights);
    Chain mixture(config, joined(config, mixed));
    EXPECT_EQ(mixture.infer(random_tokens(plain, 2, 4)), member.infer(random_tokens(plain, 2, 4)));
    const Chain::Outcome theirs = member.train(batch);
    const Chain::Outcome ours = mixture.train(batch);
    EXPECT_EQ(ours.loss, theirs.loss);
    const Tensors expected = mixture_of_copies(config, by_name(plain, theirs.gradient));
    for (const auto& [name, gradient] : by_name(config, ours.gradient)) {
        if (swarm::run::is_router(name)) {
            EXPECT_EQ(norm_of(gradient), 0) << name << ": there is nothing to choose";
        } else {
            EXPECT_EQ(gradient, expected.at(name)) << name;
        }
    }
}

TEST(Mixture, OfCopiesComputesWhatTheCopyDoes) {
    const RunConfig plain = tiny_config(1);
    const std::vector<float> weights = random_weights(plain, 1);
    const auto batch = random_batch(plain, 3);
    const double loss = Chain(plain, weights).train(batch).loss;
    for (const std::uint32_t per_token : {1U, 2U, 4U}) {
        const RunConfig config = mixed_config(4, per_token);
        const Tensors mixed = mixture_of_copies(config, by_name(plain, weights));
        EXPECT_NEAR(Chain(config, joined(config, mixed)).train(batch).loss, loss, 1e-6);
    }
}

TEST(Mixture, CutIntoStagesIsTheSameModel) {
    const RunConfig config = mixed_config(4, 2);
    const auto weights = random_weights(config, 1);
    const auto batch = random_batch(config, 3);
    const auto whole = Chain(config, weights).train(batch);
    for (const std::uint32_t stages : {1U, 2U, 3U}) {
        EXPECT_EQ(Chain(mixed_config(4, 2, stages), weights).train(batch), whole) << stages;
    }
    RunConfig other = config;
    other.model.experts_per_token = 3;
    EXPECT_NE(Chain(other, weights).train(batch).loss, whole.loss);
}

TEST(Mixture, BalanceMovesTheRoutersAlone) {
    RunConfig config = mixed_config(4, 2);
    const auto weights = random_weights(config, 1);
    const auto batch = random_batch(config, 3);
    config.train.balance = 0;
    const auto without = Chain(config, weights).train(batch);
    config.train.balance = 1;
    const auto with = Chain(config, weights).train(batch);
    EXPECT_EQ(with.loss, without.loss) << "the loss that a run says is that of its tokens";
    const Tensors before = by_name(config, without.gradient);
    const Tensors after = by_name(config, with.gradient);
    const auto last = [](const std::string& part) { return "layers.2." + part; };
    EXPECT_NE(after.at(last("moe.router")), before.at(last("moe.router")));
    for (const char* const own : {"moe.0.w1", "moe.1.w2", "moe.3.w3"}) {
        EXPECT_EQ(after.at(last(own)), before.at(last(own))) << "above it is no other router";
    }
}

/// The direction in which the router learns is that of the loss: a small step against its gradient
/// lowers it as far as the gradient says. Otherwise shares of 1 would hide it.
TEST(Mixture, TheRouterLearnsFromTheLossWithOneExpertPerToken) {
    RunConfig config = mixed_config(4, 1);
    config.train.balance = 0;
    const auto weights = random_weights(config, 1);
    const auto outcome = Chain(config, weights).train(random_batch(config, 3));
    for (const auto& [name, gradient] : by_name(config, outcome.gradient)) {
        if (swarm::run::is_router(name)) {
            EXPECT_GT(norm_of(gradient), 1e-4) << name;
        }
    }
}

TEST(Mixture, HasTheGradientOfItsLoss) {
    RunConfig config = mixed_config(3, 3);  // all experts: no choice makes the loss jump
    config.microbatches = 1;
    config.train.balance = 0;
    std::vector<float> weights = random_weights(config, 1);
    const auto batch = random_batch(config, 3);
    const auto outcome = Chain(config, weights).train(batch);
    std::size_t begin = 0;
    for (const auto& tensor : whole_layout(config).tensors) {
        const std::size_t at = begin + tensor.elements() / 2;
        begin += tensor.elements();
        const float kept = weights[at];
        const float reach = 4e-3F;
        weights[at] = kept + reach;
        const double above = Chain(config, weights).train(batch).loss;
        weights[at] = kept - reach;
        const double below = Chain(config, weights).train(batch).loss;
        weights[at] = kept;
        EXPECT_NEAR(outcome.gradient[at], (above - below) / (2.0 * reach), 2e-3) << tensor.name;
    }
}

/// With six rows and far more experts, most have no token.
TEST(Mixture, ExpertsWithoutTokensHaveNoGradient) {
    RunConfig config = mixed_config(40, 1);
    config.batch = 1;
    config.model.layers = 1;
    const auto outcome =
        Chain(config, random_weights(config, 1)).train(random_tokens(config, 3, 7));
    std::size_t idle = 0;
    for (const auto& [name, gradient] : by_name(config, outcome.gradient)) {
        idle += name.ends_with(".w1") && norm_of(gradient) == 0 ? 1 : 0;
    }
    EXPECT_GE(idle, 34U);
    EXPECT_LT(idle, 40U);
}

}  // namespace
