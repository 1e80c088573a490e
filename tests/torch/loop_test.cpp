// Looped steps: their loss and gradients are those of a second pass that is written here in plain
// operations, whose states are constants.
#include "stages/single/single_run.hpp"
#include "stages/torch/llama_model.hpp"
#include "stages/torch/make_llama.hpp"
#include "stages/torch/second_pass.hpp"
#include "swarm/base/token_flags.hpp"
#include "tests/torch/tiny_llama.hpp"

#include <gtest/gtest.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <algorithm>
#include <c10/core/GradMode.h>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <torch/csrc/autograd/autograd.h>
#include <utility>
#include <vector>

using at::Tensor;
using stages::torch_backend::LlamaModel;
using swarm::kNoLossFlag;
using swarm::run::RunConfig;
using Tokens = std::vector<std::uint32_t>;

namespace {

RunConfig looped_config(double part) {
    RunConfig config = tiny_config(1);
    config.loop = {1, part};
    return config;
}

/// Loss and gradients of one looped step by the program.
Chain::Outcome looped(
    const RunConfig& config, const std::vector<float>& weights, const Tokens& tokens
) {
    Chain chain(config, weights);
    Chain::Outcome outcome{0, std::vector<float>(chain.elements(0), 7.0F)};
    outcome.loss = take(chain.stage(0).looped_tail(tokens, outcome.gradient)).loss;
    return outcome;
}

/// The same by this test, a position at a time.
class Reference {
 public:
    Reference(const RunConfig& config, const std::vector<float>& flat)
        : config_(config), model_(config, whole_layout(config), at::kCPU) {
        auto at = flat.begin();
        for (const auto& tensor : whole_layout(config).tensors) {
            const auto end = at + static_cast<std::ptrdiff_t>(tensor.elements());
            const std::vector<std::int64_t> shape(tensor.shape.begin(), tensor.shape.end());
            weights_.push_back(
                at::tensor(std::vector<float>(at, end), at::kFloat).view(shape).requires_grad_(true)
            );
            at = end;
        }
        model_.set_weights(weights_);
    }

    /// `count`: positions of each sequence that are looped.
    Chain::Outcome train(const Tokens& tokens, std::size_t count) {
        const std::size_t row = config_.model.context + 1;
        std::vector<Tensor> losses;
        Tensor used = at::zeros({});  // each weight has a part in the graph
        for (std::size_t begin = 0; begin < tokens.size(); begin += row) {
            const std::span<const std::uint32_t> sequence(tokens.data() + begin, row);
            const Tensor embedded = embed(sequence);
            const std::vector<Tensor> states = first_pass(embedded);
            const auto positions = least_certain(states, count);
            looped_.push_back(positions);
            std::vector<Tensor> inputs;
            for (std::size_t t = 0; t + 1 < row; ++t) {
                const bool is_looped = positions.contains(t);
                inputs.push_back(is_looped ? states[t] : embedded[std::int64_t(t)]);
            }
            const Tensor second = model_.run_layers(at::stack(inputs).unsqueeze(0), {}).rows[0];
            used = used + second.sum() * 0 + model_.logits(second).sum() * 0 + embedded.sum() * 0;
            for (const std::size_t t : positions) {
                if (swarm::counts_for_loss(sequence[t + 1])) {
                    const Tensor logits = model_.logits(second.narrow(0, std::int64_t(t), 1))[0];
                    losses.push_back(-at::log_softmax(logits, 0)[std::int64_t(sequence[t + 1])]);
                }
            }
        }
        const Tensor loss = (losses.empty() ? at::zeros({}) : at::stack(losses).mean()) + used;
        Chain::Outcome outcome{loss.item<double>(), {}};
        for (const Tensor& gradient :
             torch::autograd::grad({loss / config_.microbatches}, weights_)) {
            const Tensor whole = gradient.contiguous();
            const float* const values = whole.const_data_ptr<float>();
            outcome.gradient.insert(outcome.gradient.end(), values, values + whole.numel());
        }
        return outcome;
    }

    /// The positions of each sequence of the last batch.
    [[nodiscard]] const std::vector<std::set<std::size_t>>& looped_positions() const {
        return looped_;
    }

 private:
    Tensor embed(std::span<const std::uint32_t> sequence) const {
        std::vector<std::int64_t> ids;
        for (std::size_t t = 0; t + 1 < sequence.size(); ++t) {
            ids.push_back(swarm::token_id(sequence[t]));
        }
        return model_.embed(at::tensor(ids, at::kLong));
    }

    /// State t is computed from the tokens up to t alone, so it cannot know of later ones.
    [[nodiscard]] std::vector<Tensor> first_pass(const Tensor& embedded) const {
        const c10::NoGradGuard no_graph;
        std::vector<Tensor> states;
        for (std::int64_t t = 0; t < embedded.size(0); ++t) {
            const Tensor seen = embedded.narrow(0, 0, t + 1).unsqueeze(0);
            states.push_back(model_.run_layers(seen, {}).rows[0][t]);
        }
        return states;
    }

    [[nodiscard]] std::set<std::size_t> least_certain(
        const std::vector<Tensor>& states, std::size_t count
    ) const {
        std::vector<std::pair<double, std::size_t>> order;  // less entropy is larger
        for (std::size_t t = 0; t < states.size(); ++t) {
            const Tensor p = at::log_softmax(model_.logits(states[t].unsqueeze(0))[0], 0).detach();
            order.emplace_back((p.exp() * p).sum().item<double>(), t);
        }
        std::sort(order.begin(), order.end());
        std::set<std::size_t> positions;
        for (std::size_t i = 0; i < count; ++i) {
            positions.insert(order[i].second);
        }
        return positions;
    }

    RunConfig config_;
    LlamaModel model_;
    std::vector<Tensor> weights_;
    std::vector<std::set<std::size_t>> looped_;
};

void expect_near(const Chain::Outcome& ours, const Chain::Outcome& wanted) {
    EXPECT_NEAR(ours.loss, wanted.loss, 2e-6);
    ASSERT_EQ(ours.gradient.size(), wanted.gradient.size());
    for (std::size_t i = 0; i < ours.gradient.size(); ++i) {
        ASSERT_NEAR(ours.gradient[i], wanted.gradient[i], 2e-6) << i;
    }
}

stages::MakeCompute maker() {
    return [](const RunConfig& run, const swarm::run::StageLayout& layout) {
        return take(stages::torch_backend::make_llama_compute(run, layout));
    };
}

swarm::run::Corpus small_corpus() {
    swarm::run::Corpus corpus;
    for (std::uint32_t i = 0; i < 4000; ++i) {
        corpus.push_back(i * i % 11);
    }
    return corpus;
}

}  // namespace

TEST(Loop, HasLossAndGradientsOfASecondPassOverStates) {
    const std::map<double, std::size_t> counts = {{1e-9, 1}, {0.25, 2}, {0.5, 3}, {1, 6}};
    const auto weights = random_weights(tiny_config(), 1);
    const Tokens tokens = random_batch(tiny_config(), 2);
    std::set<double> losses;
    for (const auto& [part, count] : counts) {
        SCOPED_TRACE(part);
        const auto ours = looped(looped_config(part), weights, tokens);
        expect_near(ours, Reference(tiny_config(), weights).train(tokens, count));
        losses.insert(ours.loss);
    }
    losses.insert(Chain(tiny_config(), weights).train(tokens).loss);
    EXPECT_EQ(losses.size(), counts.size() + 1) << "a plain step has another loss";
}

TEST(Loop, CountsTheTargetsThatCount) {
    const auto weights = random_weights(tiny_config(), 1);
    Tokens tokens = random_batch(tiny_config(), 3);
    const RunConfig config = looped_config(0.5);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const std::size_t t = i % (config.model.context + 1);
        tokens[i] |= t % 2 == 1 ? kNoLossFlag : 0;
    }
    expect_near(
        looped(config, weights, tokens), Reference(tiny_config(), weights).train(tokens, 3)
    );
}

TEST(Loop, HasNoLossWhereNoLoopedTargetCounts) {
    const auto weights = random_weights(tiny_config(), 1);
    const Tokens plain = random_batch(tiny_config(), 3);
    Reference reference(tiny_config(), weights);
    reference.train(plain, 2);
    const std::size_t row = tiny_config().model.context + 1;
    Tokens others = plain;  // all targets but those of the looped positions count
    for (std::size_t i = 0; i < others.size(); ++i) {
        const auto& positions = reference.looped_positions()[i / row];
        others[i] |= i % row > 0 && positions.contains(i % row - 1) ? kNoLossFlag : 0;
    }
    ASSERT_NE(others, plain);
    const auto outcome = looped(looped_config(0.25), weights, others);
    EXPECT_EQ(outcome.loss, 0);
    EXPECT_EQ(outcome.gradient, std::vector<float>(outcome.gradient.size()));
    EXPECT_GT(Chain(tiny_config(), weights).train(others).loss, 0);
}

/// A later token changes neither the loss of an earlier position nor its choice.
TEST(Loop, ReadsNoTokenThatItMustPredict) {
    RunConfig config = looped_config(1);
    config.batch = 1;
    const auto weights = random_weights(config, 1);
    Tokens tokens = random_batch(config, 4);
    for (std::size_t i = 3; i < tokens.size(); ++i) {
        tokens[i] |= kNoLossFlag;  // the targets at 0 and 1 count
    }
    const double loss = looped(config, weights, tokens).loss;
    for (std::size_t i = 3; i < tokens.size(); ++i) {
        tokens[i] = kNoLossFlag | ((swarm::token_id(tokens[i]) + 5) % config.model.vocabulary);
    }
    EXPECT_NEAR(looped(config, weights, tokens).loss, loss, 1e-6);
    tokens[2] = (tokens[2] + 5) % config.model.vocabulary;
    EXPECT_GT(std::abs(looped(config, weights, tokens).loss - loss), 1e-3) << "a target";
}

TEST(Loop, TakesTheLowerOfEqualPositions) {
    using stages::torch_backend::largest_positions;
    const Tensor entropies =
        at::tensor({1.0, 2.0, 2.0, 0.5, 2.0, 3.0, 0.0, 0.0, 0.0, 0.0}).view({2, 5});
    const auto rows = [&](std::int64_t count) {
        const Tensor found = largest_positions(entropies, count).contiguous();
        const auto* const values = found.const_data_ptr<std::int64_t>();
        return std::vector<std::int64_t>(values, values + found.numel());
    };
    EXPECT_EQ(rows(1), (std::vector<std::int64_t>{1, 0}));
    EXPECT_EQ(rows(2), (std::vector<std::int64_t>{1, 2, 0, 1}));
    EXPECT_EQ(rows(4), (std::vector<std::int64_t>{0, 1, 2, 4, 0, 1, 2, 3}));
    EXPECT_EQ(rows(5), (std::vector<std::int64_t>{0, 1, 2, 3, 4, 0, 1, 2, 3, 4}));
}

TEST(Loop, KeepsToDocumentsInBothPasses) {
    RunConfig config = looped_config(1);
    config.batch = 1;
    config.train.separate_documents = true;
    config.train.document_end = {7};
    const auto weights = random_weights(config, 1);
    Tokens tokens = {1, 2, 7 | kNoLossFlag, 4, 5, 6, 8};
    tokens[1] |= kNoLossFlag;
    tokens[3] |= kNoLossFlag;  // the second document begins with this token
    const double loss = looped(config, weights, tokens).loss;
    tokens[0] = 3;
    tokens[1] = 9 | kNoLossFlag;
    EXPECT_NEAR(looped(config, weights, tokens).loss, loss, 1e-6);
    config.train.separate_documents = false;
    EXPECT_GT(std::abs(looped(config, weights, tokens).loss - loss), 1e-4);
}

TEST(Loop, IsInItsStepsOnly) {
    const auto losses = [](std::uint32_t every) {
        RunConfig config = tiny_config(1);
        config.loop.every = every;
        stages::SingleRun run(config, maker(), small_corpus());
        std::vector<double> found;
        for (int step = 0; step < 4; ++step) {
            found.push_back(take(run.step()).loss);
        }
        return found;
    };
    const auto plain = losses(0);
    EXPECT_EQ(losses(100), plain);
    const auto third = losses(3);
    EXPECT_EQ(third[0], plain[0]);
    EXPECT_EQ(third[1], plain[1]);
    EXPECT_NE(third[2], plain[2]);
    EXPECT_NE(third[3], plain[3]) << "the weights after a looped step are others";
    EXPECT_NE(losses(1)[0], plain[0]);
}

TEST(Loop, HasNoLossAtExits) {
    RunConfig config = looped_config(0.5);
    config.train.freeze = {"embed", "head"};
    config.train.exits = {1};
    const Tokens tokens = random_batch(config, 6);
    const auto layout = swarm::run::partition(config).front();
    const auto some_values = [](std::uint64_t count) {
        std::vector<float> values;
        for (std::uint64_t i = 0; i < count; ++i) {
            values.push_back(static_cast<float>(std::sin(1.7 * static_cast<double>(i))));
        }
        return values;
    };
    const auto frozen = some_values(layout.frozen_elements());
    const auto weights = some_values(layout.elements());
    const auto gradients = [&](double exit_weight, bool is_looped) {
        config.train.exit_weight = exit_weight;
        const auto compute = maker()(config, layout);
        compute->use_frozen(frozen);
        compute->use_weights(weights);
        std::vector<float> gradient(layout.elements());
        take(
            is_looped ? compute->looped_tail(tokens, gradient)
                      : compute->forward_tail(nullptr, tokens, gradient)
        );
        return gradient;
    };
    EXPECT_EQ(gradients(0.3, true), gradients(0, true));
    EXPECT_NE(gradients(0.3, false), gradients(0, false));
}

TEST(Loop, TrainsAMixtureWithItsBalance) {
    RunConfig config = looped_config(0.5);
    config.model.kind = swarm::run::ModelKind::Mixtral;
    config.model.experts = 3;
    const auto weights = random_weights(config, 1);
    const Tokens tokens = random_batch(config, 5);
    const auto with = looped(config, weights, tokens);
    config.train.balance = 0;
    const auto without = looped(config, weights, tokens);
    EXPECT_EQ(with.loss, without.loss);
    EXPECT_NE(with.gradient, without.gradient);
}
