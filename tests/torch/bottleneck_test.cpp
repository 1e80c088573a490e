// model.bottleneck: tensors between stages have fewer values per token than the layers. The same
// stages without bottlenecks, and maps that the test computes between them, are the reference.
#include "stages/files/checkpoint.hpp"
#include "stages/single/single_run.hpp"
#include "stages/torch/make_llama.hpp"
#include "stages/worker/stage_state.hpp"
#include "swarm/run/training/boundary_maps.hpp"
#include "tests/torch/tiny_llama.hpp"
#include "tests/unit/stages/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using stages::StageTensor;
using swarm::run::RunConfig;

constexpr std::uint32_t kStages = 3;
constexpr std::uint32_t kNarrow = 5;  // divides neither the width of 16 nor any other size

RunConfig narrow_config(std::uint32_t bottleneck = kNarrow) {
    RunConfig config = tiny_config(kStages);
    config.model.bottleneck = bottleneck;
    return config;
}

/// Random values for all tensors of all stages, maps included.
std::vector<std::vector<float>> random_stages(const RunConfig& config) {
    std::vector<std::vector<float>> all;
    for (const auto& layout : swarm::run::partition(config)) {
        std::vector<float>& weights = all.emplace_back();
        std::uint64_t seed = 100 * layout.stage.value;
        for (const auto& tensor : layout.tensors) {
            RunConfig dense = config;
            dense.model.vocabulary = 4096;
            for (const std::uint32_t token : random_tokens(dense, ++seed, tensor.elements())) {
                const float value = static_cast<float>(token) / 4096 - 0.5F;
                weights.push_back(tensor.shape.size() == 1 ? 1 + 0.4F * value : value);
            }
        }
    }
    return all;
}

/// A stage's values split into those of its layers, of its maps, and of its table of tokens.
struct SplitValues {
    std::vector<float> layers;
    std::vector<float> up;
    std::vector<float> down;
    std::vector<float> table;
};

SplitValues split(const RunConfig& config, std::size_t stage, const std::vector<float>& values) {
    SplitValues split;
    auto at = values.begin();
    const auto layouts = swarm::run::partition(config);
    for (const auto& tensor : layouts[stage].tensors) {
        const auto end = at + static_cast<std::ptrdiff_t>(tensor.elements());
        const bool is_map = swarm::run::is_boundary_map(tensor.name);
        std::vector<float>* to = is_map ? &split.down : &split.layers;
        to = tensor.name.ends_with(".up") ? &split.up : to;
        to = swarm::run::is_token_table(tensor.name) ? &split.table : to;
        to->insert(to->end(), at, end);
        at = end;
    }
    return split;
}

/// Returns (rows, out) for x (rows, in) and a map (out, in).
std::vector<float> mapped(
    const std::vector<float>& x, const std::vector<float>& map, std::size_t in, std::size_t out
) {
    const std::size_t rows = x.size() / in;
    std::vector<float> y(rows * out);
    for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t o = 0; o < out; ++o) {
            double sum = 0;
            for (std::size_t i = 0; i < in; ++i) {
                sum += static_cast<double>(x[row * in + i]) * map[o * in + i];
            }
            y[row * out + o] = static_cast<float>(sum);
        }
    }
    return y;
}

std::vector<float> transposed(const std::vector<float>& map, std::size_t columns) {
    const std::size_t rows = map.size() / columns;
    std::vector<float> result(map.size());
    for (std::size_t i = 0; i < map.size(); ++i) {
        result[i % columns * rows + i / columns] = map[i];
    }
    return result;
}

/// The gradient (out, in) of a map by those of its outputs.
std::vector<float> gradient_of_map(
    const std::vector<float>& by_output,
    const std::vector<float>& x,
    std::size_t in,
    std::size_t out
) {
    return mapped(transposed(by_output, out), transposed(x, in), x.size() / in, in);
}

void expect_near(
    const std::vector<float>& found, const std::vector<float>& expected, const std::string& what
) {
    ASSERT_EQ(found.size(), expected.size()) << what;
    for (std::size_t i = 0; i < found.size(); ++i) {
        const float scale = std::max(1.0F, std::fabs(expected[i]));
        ASSERT_NEAR(found[i], expected[i], 1e-5 * scale) << what << " " << i;
    }
}

/// Stages without bottlenecks, with the maps between them.
class DenseReference {
 public:
    DenseReference(const RunConfig& config, const std::vector<std::vector<float>>& weights)
        : config_(config), width_(config.model.width), narrow_(config.model.bottleneck) {
        RunConfig dense = config;
        dense.model.bottleneck = 0;
        std::vector<float> all;
        for (std::size_t s = 0; s < kStages; ++s) {
            maps_.push_back(split(config, s, weights[s]));
            all.insert(all.end(), maps_[s].layers.begin(), maps_[s].layers.end());
        }
        chain_ = std::make_unique<Chain>(dense, all);
    }

    /// Returns the gradients of each stage.
    std::vector<SplitValues> train(const std::vector<std::uint32_t>& tokens, double& loss) {
        const std::vector<std::uint32_t> shape{config_.batch, config_.model.context, width_};
        std::vector<std::vector<float>> outputs;
        std::vector<std::vector<float>> crossing;
        std::vector<StageTensor> inputs(kStages);
        for (std::size_t s = 0; s + 1 < kStages; ++s) {
            const StageTensor* const input = s == 0 ? nullptr : &inputs[s];
            outputs.push_back(tensor_values(
                take(chain_->stage(s).forward(graph_key(0), input, tokens, stages::Graph::Keep))
            ));
            crossing.push_back(mapped(outputs[s], maps_[s].down, width_, narrow_));
            std::vector<float> entered = mapped(crossing[s], maps_[s + 1].up, narrow_, width_);
            for (std::size_t i = 0; i < entered.size(); ++i) {
                const std::size_t token = token_of(tokens, i / width_);
                entered[i] += maps_[s + 1].table[token * width_ + i % width_];
            }
            inputs[s + 1] = host_tensor(shape, std::move(entered));
        }
        std::vector<SplitValues> gradients(kStages);
        gradients.back().layers.resize(chain_->elements(kStages - 1));
        auto tail = take(
            chain_->stage(kStages - 1).forward_tail(&inputs.back(), tokens, gradients.back().layers)
        );
        loss = tail.loss;
        std::vector<float> by_input = tensor_values(tail.gradient_below);
        for (std::size_t s = kStages - 1; s-- > 0;) {
            gradients[s + 1].up = gradient_of_map(by_input, crossing[s], narrow_, width_);
            gradients[s + 1].table.resize(maps_[s + 1].table.size());
            for (std::size_t i = 0; i < by_input.size(); ++i) {
                const std::size_t token = token_of(tokens, i / width_);
                gradients[s + 1].table[token * width_ + i % width_] += by_input[i];
            }
            const auto by_crossing =
                mapped(by_input, transposed(maps_[s + 1].up, narrow_), width_, narrow_);
            gradients[s].down = gradient_of_map(by_crossing, outputs[s], width_, narrow_);
            const StageTensor by_output = host_tensor(
                shape, mapped(by_crossing, transposed(maps_[s].down, width_), narrow_, width_)
            );
            gradients[s].layers.resize(chain_->elements(s));
            by_input = tensor_values(
                take(chain_->stage(s).backward(graph_key(0), by_output, gradients[s].layers))
            );
        }
        return gradients;
    }

 private:
    /// The token of a row of an activation; a sequence has one token more than rows.
    [[nodiscard]] std::size_t token_of(const std::vector<std::uint32_t>& tokens, std::size_t row)
        const {
        const std::size_t context = config_.model.context;
        return tokens[row / context * (context + 1) + row % context];
    }

    RunConfig config_;
    std::uint32_t width_;
    std::uint32_t narrow_;
    std::vector<SplitValues> maps_;
    std::unique_ptr<Chain> chain_;
};

std::vector<float> joined(const std::vector<std::vector<float>>& stages) {
    std::vector<float> all;
    for (const std::vector<float>& stage : stages) {
        all.insert(all.end(), stage.begin(), stage.end());
    }
    return all;
}

swarm::run::Corpus some_text() {
    swarm::run::Corpus text;
    for (std::uint32_t i = 0; i < 4000; ++i) {
        text.push_back('a' + i * i % 23);
    }
    return text;
}

}  // namespace

TEST(Bottleneck, HasTheLossAndTheGradientsOfMapsBetweenDenseStages) {
    const RunConfig config = narrow_config();
    const auto weights = random_stages(config);
    const auto tokens = random_batch(config, 3);
    const auto outcome = Chain(config, joined(weights)).train(tokens);
    double loss = 0;
    const auto expected = DenseReference(config, weights).train(tokens, loss);
    EXPECT_NEAR(outcome.loss, loss, 1e-5);
    auto at = outcome.gradient.begin();
    for (std::size_t s = 0; s < kStages; ++s) {
        const auto end = at + static_cast<std::ptrdiff_t>(weights[s].size());
        const SplitValues own = split(config, s, std::vector<float>(at, end));
        at = end;
        const std::string stage = "stage " + std::to_string(s);
        expect_near(own.layers, expected[s].layers, stage);
        expect_near(own.up, expected[s].up, stage + ", up");
        expect_near(own.down, expected[s].down, stage + ", down");
        expect_near(own.table, expected[s].table, stage + ", table");
    }
}

TEST(Bottleneck, PassesOnAsManyValuesPerTokenAsItSays) {
    const RunConfig config = narrow_config();
    Chain chain(config, joined(random_stages(config)));
    const auto tokens = random_batch(config, 3);
    const auto up =
        take(chain.stage(0).forward(graph_key(0), nullptr, tokens, stages::Graph::Keep));
    EXPECT_EQ(up.shape, swarm::run::activation_shape(config, {0}));
    EXPECT_EQ(up.shape.back(), kNarrow);
    take(chain.stage(1).forward(graph_key(0), &up, tokens, stages::Graph::Keep));
    const auto without = chain.stage(1).forward(graph_key(2), &up, {}, stages::Graph::Keep);
    EXPECT_TRUE(without.has_error()) << "its table needs the tokens";
    std::vector<float> gradient(chain.elements(1));
    EXPECT_EQ(take(chain.stage(1).backward(graph_key(0), up, gradient)).shape, up.shape);
    RunConfig dense = config;
    dense.model.bottleneck = 0;
    const auto wide =
        host_tensor(swarm::run::activation_shape(dense, {0}), std::vector<float>(2 * 6 * 16));
    EXPECT_TRUE(chain.stage(1).forward(graph_key(1), &wide, tokens, stages::Graph::Keep).has_error()
    );
    EXPECT_EQ(chain.infer(random_tokens(config, 5, 4)).size(), config.model.vocabulary);
}

TEST(Bottleneck, TheFirstValuesOfARowPassAsTheyAreAtTheStart) {
    const RunConfig config = narrow_config();
    RunConfig dense = config;
    dense.model.bottleneck = 0;
    const auto first_output = [](const RunConfig& own) {
        const auto layout = swarm::run::partition(own).front();
        const auto state = stages::StageState::from_seed(own, layout);
        const auto compute = take(stages::torch_backend::make_llama_compute(own, layout));
        compute->use_weights(state.weights());
        return tensor_values(
            take(compute->forward(graph_key(0), nullptr, random_batch(own, 3), stages::Graph::Drop))
        );
    };
    const auto narrow = first_output(config);
    const auto wide = first_output(dense);
    for (std::size_t i = 0; i < narrow.size(); ++i) {
        EXPECT_EQ(narrow[i], wide[i / kNarrow * dense.model.width + i % kNarrow]) << i;
    }
}

TEST(Bottleneck, ATableIsTheEmbeddingWithoutWhatCrossesAtTheStart) {
    const RunConfig config = narrow_config();
    const auto layouts = swarm::run::partition(config);
    const auto first = stages::StageState::from_seed(config, layouts[0]);
    const auto second = stages::StageState::from_seed(config, layouts[1]);
    ASSERT_EQ(layouts[0].tensors.front().name, "embed.weight");
    ASSERT_EQ(layouts[1].tensors.front().name, "boundary.0.tokens");
    const std::size_t width = config.model.width;
    for (std::size_t i = 0; i < config.model.vocabulary * width; ++i) {
        const bool crosses = i % width < kNarrow;
        EXPECT_EQ(second.weights()[i], crosses ? 0 : first.weights()[i]) << i;
    }
}

TEST(Bottleneck, ACheckpointHasTheMapsOfAllStages) {
    RunConfig config = narrow_config();
    config.model.vocabulary = 256;
    std::vector<stages::StageState> states;
    for (const auto& layout : swarm::run::partition(config)) {
        states.push_back(stages::StageState::from_seed(config, layout));
    }
    std::vector<const stages::StageState*> views;
    for (const auto& state : states) {
        views.push_back(&state);
    }
    const stages::test::ScratchFolder scratch;
    const auto folder = take(stages::write_checkpoint(scratch.path(), config, views));
    const auto checkpoint = take(stages::read_checkpoint(folder));
    for (const auto& state : states) {
        const auto restored = take(stages::restore_stage(checkpoint, state.layout()));
        EXPECT_TRUE(std::ranges::equal(restored.weights(), state.weights()));
    }
}

TEST(Bottleneck, TrainsWithEveryCodecAndWidth) {
    for (const char* const codec : {"none", "int8", "int4", "hadamard-int4"}) {
        for (const std::uint32_t bottleneck : {5U, 8U, 12U}) {
            RunConfig config = narrow_config(bottleneck);
            config.model.vocabulary = 256;
            config.codec = swarm::run::CodecSetting::find(codec).value();
            config.steps = 8;
            config.optimizer.warmup_steps = 1;
            stages::SingleRun run(
                config,
                [](const RunConfig& own, const swarm::run::StageLayout& layout) {
                    return take(stages::torch_backend::make_llama_compute(own, layout));
                },
                some_text()
            );
            const double first = take(run.step()).loss;
            double last = first;
            for (std::uint64_t step = 1; step < config.steps; ++step) {
                last = take(run.step()).loss;
            }
            EXPECT_LT(last, first) << codec << " " << bottleneck;
        }
    }
}
