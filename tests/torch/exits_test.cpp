// train.exits: the head answers behind inner layers, too. A model of its first layers alone, with
// the same head, is the reference for each exit: gradients of sums are sums of gradients.
#include "stacking/models/run_checkpoint.hpp"
#include "stages/files/checkpoint.hpp"
#include "stages/single/single_run.hpp"
#include "stages/torch/make_llama.hpp"
#include "swarm/base/token_flags.hpp"
#include "swarm/run/training/exits.hpp"
#include "tests/torch/tiny_llama.hpp"
#include "tests/unit/stages/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

using stages::SingleRun;
using stages::StageState;
using swarm::run::RunConfig;
using swarm::run::StageLayout;

/// The values of tensors by name.
using Named = std::map<std::string, std::vector<float>>;

std::unique_ptr<stages::StageCompute> make(const RunConfig& run, const StageLayout& layout) {
    return take(stages::torch_backend::make_llama_compute(run, layout));
}

RunConfig with_exits(std::uint32_t stages, std::vector<std::uint32_t> exits) {
    RunConfig config = tiny_config(stages);
    config.train.freeze = {"embed", "head"};
    config.train.exits = std::move(exits);
    return config;
}

RunConfig mixture(RunConfig config) {
    config.model.kind = swarm::run::ModelKind::Mixtral;
    config.model.experts = 3;
    config.model.experts_per_token = 2;
    return config;
}

/// Random values for the tensors of the whole model.
Named random_model(RunConfig config) {
    config.train = {};
    const std::vector<float> flat = random_weights(config, 3);
    Named weights;
    auto at = flat.begin();
    for (const auto& tensor : whole_layout(config).tensors) {
        const auto end = at + static_cast<std::ptrdiff_t>(tensor.elements());
        weights[tensor.name].assign(at, end);
        at = end;
    }
    return weights;
}

std::vector<float> values_of(
    const Named& weights, const std::vector<swarm::run::TensorSpec>& some
) {
    std::vector<float> all;
    for (const auto& tensor : some) {
        const auto& values = weights.at(swarm::run::original_of(tensor.name));
        all.insert(all.end(), values.begin(), values.end());
    }
    return all;
}

struct TrainedExits {
    double loss = 0;
    Named gradients;
};

/// Does forward and backward of one microbatch.
TrainedExits train(
    const RunConfig& config, const Named& weights, const std::vector<std::uint32_t>& tokens
) {
    const auto layouts = swarm::run::partition(config);
    const std::size_t last = layouts.size() - 1;
    std::vector<std::vector<float>> values;  // which the stages borrow
    std::vector<std::vector<float>> gradients;
    std::vector<std::unique_ptr<stages::StageCompute>> computes;
    for (const StageLayout& layout : layouts) {
        computes.push_back(make(config, layout));
        computes.back()->use_frozen(values.emplace_back(values_of(weights, layout.frozen)));
        computes.back()->use_weights(values.emplace_back(values_of(weights, layout.tensors)));
        gradients.emplace_back(layout.elements(), 7.0F);  // values that must be overwritten
    }
    std::vector<stages::StageTensor> outputs;
    const auto input = [&](std::size_t s) { return s == 0 ? nullptr : &outputs[s - 1]; };
    for (std::size_t s = 0; s < last; ++s) {
        outputs.push_back(
            take(computes[s]->forward(graph_key(0), input(s), tokens, stages::Graph::Keep))
        );
    }
    auto tail = take(computes[last]->forward_tail(input(last), tokens, gradients[last]));
    EXPECT_EQ(take(computes[last]->tail_loss(input(last), tokens)), tail.loss);
    stages::StageTensor below = std::move(tail.gradient_below);
    for (std::size_t s = last; s-- > 0;) {
        below = take(computes[s]->backward(graph_key(0), below, gradients[s]));
    }
    TrainedExits trained{tail.loss, {}};
    for (std::size_t s = 0; s <= last; ++s) {
        auto at = gradients[s].begin();
        for (const auto& tensor : layouts[s].tensors) {
            const auto end = at + static_cast<std::ptrdiff_t>(tensor.elements());
            trained.gradients[tensor.name].assign(at, end);
            at = end;
        }
    }
    return trained;
}

/// The gradients of the loss of the last layer and of those of the exits, each by a model of so
/// many layers.
Named expected_gradients(
    const RunConfig& config, const Named& weights, const std::vector<std::uint32_t>& tokens
) {
    RunConfig plain = config;
    plain.stages = 1;
    plain.train.exits.clear();
    Named sum = train(plain, weights, tokens).gradients;
    sum.erase(swarm::run::kHeadNorm);
    plain.train.balance = 0;
    for (const std::uint32_t exit : config.train.exits) {
        plain.model.layers = exit;
        for (const auto& [name, values] : train(plain, weights, tokens).gradients) {
            for (std::size_t i = 0; i < values.size() && name != swarm::run::kHeadNorm; ++i) {
                sum[name][i] += static_cast<float>(config.train.exit_weight) * values[i];
            }
        }
    }
    return sum;
}

void expect_equal(const Named& found, const Named& expected, const std::string& what) {
    ASSERT_EQ(found.size(), expected.size()) << what;
    for (const auto& [name, values] : expected) {
        std::vector<float> difference = found.at(name);
        std::ranges::transform(difference, values, difference.begin(), std::minus{});
        ASSERT_GT(norm_of(values), 0) << name;
        EXPECT_LT(norm_of(difference), 1e-6 * norm_of(values)) << what << ": " << name;
    }
}

TEST(Exits, AddTheGradientsOfModelsOfFewerLayersForAnyCut) {
    for (const bool is_mixture : {false, true}) {
        for (const auto& exits : std::vector<std::vector<std::uint32_t>>{{1}, {2}, {1, 2}}) {
            const RunConfig plain = with_exits(1, exits);
            RunConfig config = is_mixture ? mixture(plain) : plain;
            const Named weights = random_model(config);
            const auto tokens = random_batch(config, 5);
            const Named expected = expected_gradients(config, weights, tokens);
            const double loss = train(config, weights, tokens).loss;
            for (const std::uint32_t stages : {1U, 2U, 3U}) {
                config.stages = stages;
                const TrainedExits found = train(config, weights, tokens);
                EXPECT_EQ(found.loss, loss) << "the loss of the last layer";
                expect_equal(
                    found.gradients,
                    expected,
                    std::to_string(stages) + " stages, " + std::to_string(exits.size()) +
                        " exits, to " + std::to_string(exits.back())
                );
            }
        }
    }
}

TEST(Exits, OfWeightZeroLeaveTheBitsOfAPlainRun) {
    for (const std::uint32_t stages : {1U, 3U}) {
        RunConfig config = with_exits(stages, {1, 2});
        config.train.exit_weight = 0;
        RunConfig plain = config;
        plain.train.exits.clear();
        const Named weights = random_model(config);
        const auto tokens = random_batch(config, 5);
        TrainedExits wanted = train(plain, weights, tokens);
        wanted.gradients.erase(swarm::run::kHeadNorm);  // exits hold it
        const TrainedExits found = train(config, weights, tokens);
        EXPECT_EQ(found.loss, wanted.loss);
        EXPECT_EQ(found.gradients, wanted.gradients);
    }
}

TEST(Exits, CountTheTargetsThatCountAtTheEnd) {
    RunConfig config = with_exits(2, {1, 2});
    const Named weights = random_model(config);
    auto tokens = random_batch(config, 5);
    for (const std::size_t at : {2U, 3U, 9U, 13U}) {
        tokens[at] |= swarm::kNoLossFlag;
    }
    const Named expected = expected_gradients(config, weights, tokens);
    expect_equal(train(config, weights, tokens).gradients, expected, "some");
    const std::size_t row = config.model.context + 1;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        tokens[i] |= i % row == 0 ? 0 : swarm::kNoLossFlag;
    }
    const TrainedExits nothing = train(config, weights, tokens);
    EXPECT_EQ(nothing.loss, 0);
    for (const auto& [name, values] : nothing.gradients) {
        EXPECT_EQ(norm_of(values), 0) << name;
    }
}

TEST(Exits, BelowFrozenLayersLearnNothing) {
    RunConfig config = with_exits(3, {1});
    config.train.freeze.emplace_back("layers.0");
    RunConfig plain = config;
    plain.train.exits.clear();
    const Named weights = random_model(config);
    const auto tokens = random_batch(config, 5);
    Named wanted = train(plain, weights, tokens).gradients;
    wanted.erase(swarm::run::kHeadNorm);
    EXPECT_EQ(train(config, weights, tokens).gradients, wanted);
}

/// The states of all stages, from the seed.
std::vector<StageState> first_states(const RunConfig& config) {
    std::vector<StageState> states;
    for (const StageLayout& layout : swarm::run::partition(config)) {
        states.push_back(StageState::from_seed(config, layout));
    }
    return states;
}

TEST(Exits, ACopyBeginsAsTheHead) {
    for (const bool tied : {false, true}) {
        RunConfig config = with_exits(3, {1, 2});
        config.model.tied_embeddings = tied;
        const auto states = first_states(config);
        const auto head = states[2].frozen();  // norm and matrix
        EXPECT_TRUE(std::ranges::equal(states[1].frozen(), head)) << tied;
        const auto first = states[0].frozen();  // the embedding and the copy
        const auto embedding = first.first(swarm::run::tied_elements(config));
        EXPECT_TRUE(std::ranges::equal(first.subspan(embedding.size()), head)) << tied;
        EXPECT_EQ(std::ranges::equal(head.subspan(config.model.width), embedding), tied);
    }
}

TEST(Exits, ACheckpointIsAModelAndFitsOtherCuts) {
    RunConfig config = with_exits(3, {1, 2});
    config.model.vocabulary = 256;
    config.microbatches = 2;
    SingleRun run(config, make, random_tokens(config, 8, 200));
    const auto frozen = [&](std::uint32_t stage) {
        const auto values = run.state(stage).frozen();
        return std::vector<float>(values.begin(), values.end());
    };
    const std::vector<float> head = frozen(2);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(take(run.step()).counted_once, config.microbatches);
    }
    EXPECT_EQ(frozen(1), head);
    EXPECT_EQ(frozen(2), head);
    const stages::test::ScratchFolder scratch;
    const StageState* const states[] = {&run.state(0), &run.state(1), &run.state(2)};
    const auto folder = take(stages::write_checkpoint(scratch.path(), config, states));
    EXPECT_FALSE(std::filesystem::exists(folder / "exit.0.safetensors"));
    const auto model = take(stacking::models::open_run_checkpoint(folder));
    EXPECT_EQ(model.tensors().size(), whole_layout(tiny_config()).tensors.size());
    const auto checkpoint = take(stages::read_checkpoint(folder));
    config.stages = 2;
    const auto cut = swarm::run::partition(config);
    const StageState restored = take(stages::restore_stage(checkpoint, cut[0]));
    const auto copy = restored.frozen().subspan(swarm::run::tied_elements(config));
    EXPECT_TRUE(std::ranges::equal(copy, head));
}

}  // namespace
