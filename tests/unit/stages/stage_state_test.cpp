#include "stages/worker/stage_state.hpp"

#include "stages/worker/first_state.hpp"
#include "stages/worker/sparse_replica.hpp"
#include "swarm/base/rng.hpp"
#include "tests/unit/stages/small_models.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace stages {
namespace {

using swarm::node::Payload;
using swarm::protocol::StepScalars;
using swarm::run::StageLayout;

/// A state of four chunks after two steps, so that no part of it is all zeros.
StageState trained_state() {
    swarm::run::RunConfig config;
    config.stages = 1;
    config.model.layers = 1;
    const StageLayout layout = swarm::run::partition(config)[0];
    StageState state = StageState::from_seed(config, layout);
    swarm::Rng rng(3, 0);
    std::vector<float> gradient(layout.elements());
    for (int step = 0; step < 2; ++step) {
        for (float& value : gradient) {
            value = static_cast<float>(rng.unit() - 0.5);
        }
        state.apply(config.optimizer, {1.0, 1e-3, 0.1, 0.05}, gradient);
    }
    return state;
}

std::vector<Payload> chunks_of(const StageState& state) {
    std::vector<Payload> chunks;
    for (std::uint32_t i = 0; i < state.chunk_count(); ++i) {
        chunks.push_back(state.chunk(i));
    }
    return chunks;
}

std::vector<float> initial_weights(std::uint32_t stages) {
    const auto config = test::small_run(stages);
    std::vector<float> all;
    for (const StageLayout& layout : swarm::run::partition(config)) {
        const StageState state = StageState::from_seed(config, layout);
        all.insert(all.end(), state.weights().begin(), state.weights().end());
    }
    return all;
}

TEST(StageState, ACopySharesItsValuesUntilOneOfThemChanges) {
    StageState state = trained_state();
    const StageState copy = state;
    const swarm::Digest before = state.hash();
    EXPECT_EQ(copy.weights().data(), state.weights().data());
    EXPECT_EQ(copy.second_moments().data(), state.second_moments().data());
    const std::vector<float> gradient(state.weights().size(), 0.5F);
    state.apply({}, {1.0, 1e-3, 0.1, 0.05}, gradient);
    EXPECT_EQ(copy.hash(), before);
    EXPECT_NE(state.hash(), before);
    const float* const own = state.weights().data();
    state.apply({}, {1.0, 1e-3, 0.1, 0.05}, gradient);
    EXPECT_EQ(state.weights().data(), own) << "copied again although nobody shares it";
}

TEST(StageState, OtherWeightsLeaveTheMomentsShared) {
    const StageState state = trained_state();
    StageState copy = state;
    copy.set_weights(std::vector<float>(state.weights().size(), 0.25F));
    EXPECT_EQ(copy.weights().front(), 0.25F);
    EXPECT_NE(state.weights().front(), 0.25F);
    EXPECT_EQ(copy.first_moments().data(), state.first_moments().data());
}

TEST(FillInitial, DoesNotDependOnTheSplit) {
    EXPECT_EQ(initial_weights(1), initial_weights(3));
}

TEST(FillInitial, DrawsMatricesNearNormalWithAStandardDeviationOfTwoPercent) {
    const swarm::run::TensorSpec tensor{"layers.0.attn.wo", {400, 250}};
    std::vector<float> values(tensor.elements());
    fill_initial(1, tensor, values);
    double sum = 0;
    double squares = 0;
    std::size_t within_one_deviation = 0;
    for (const float value : values) {
        sum += value;
        squares += static_cast<double>(value) * value;
        within_one_deviation += std::abs(value) < 0.02F ? 1 : 0;
    }
    const auto count = static_cast<double>(values.size());
    EXPECT_NEAR(sum / count, 0.0, 3e-4);
    EXPECT_NEAR(std::sqrt(squares / count), 0.02, 2e-4);
    EXPECT_NEAR(static_cast<double>(within_one_deviation) / count, 0.68, 0.03);
}

TEST(FillInitial, GivesOtherTensorsAndSeedsOtherValues) {
    std::vector<float> values(64);
    std::vector<float> other_name(64);
    std::vector<float> other_seed(64);
    fill_initial(1, {"layers.1.attn.wo", {8, 8}}, values);
    fill_initial(1, {"layers.2.attn.wo", {8, 8}}, other_name);
    fill_initial(2, {"layers.1.attn.wo", {8, 8}}, other_seed);
    EXPECT_NE(values, other_name);
    EXPECT_NE(values, other_seed);
}

TEST(FillInitial, StartsGainsAtOne) {
    std::vector<float> values(5);
    fill_initial(1, {"layers.0.attn_norm", {5}}, values);
    EXPECT_EQ(values, std::vector<float>(5, 1.0F));
}

TEST(StageState, ComesBackFromItsChunksWithTheSameHash) {
    const StageState state = trained_state();
    ASSERT_GT(state.chunk_count(), 2U);
    const auto copy = StageState::from_chunks(state.layout(), state.version(), chunks_of(state));
    ASSERT_TRUE(copy.has_value());
    EXPECT_EQ(copy->hash(), state.hash());
    EXPECT_EQ(copy->version(), state.version());
    EXPECT_TRUE(std::ranges::equal(copy->weights(), state.weights()));
    EXPECT_TRUE(std::ranges::equal(copy->second_moments(), state.second_moments()));
}

TEST(StageState, HashesEachChunkInItsManifest) {
    const StageState state = trained_state();
    const auto manifest = state.manifest();
    ASSERT_EQ(manifest.size(), state.chunk_count());
    for (std::uint32_t i = 0; i < state.chunk_count(); ++i) {
        EXPECT_EQ(manifest[i], swarm::sha256(state.chunk(i).bytes())) << i;
    }
    EXPECT_EQ(state.hash(), manifest_hash(manifest));
}

TEST(StageState, RefusesChunksOfAnotherNumberOrSize) {
    const StageState state = trained_state();
    auto chunks = chunks_of(state);
    const auto last = std::exchange(chunks.back(), chunks.front());
    auto made = StageState::from_chunks(state.layout(), state.version(), chunks);
    ASSERT_TRUE(made.has_error());
    EXPECT_EQ(made.error().code, swarm::ErrorCode::Mismatch);
    chunks.back() = last;
    chunks.pop_back();
    EXPECT_TRUE(StageState::from_chunks(state.layout(), state.version(), chunks).has_error());
    chunks.push_back(last);
    chunks.push_back(Payload());
    EXPECT_TRUE(StageState::from_chunks(state.layout(), state.version(), chunks).has_error());
}

TEST(StageState, ShowsAMomentInItsHash) {
    const StageState state = trained_state();
    std::vector<float> second(state.second_moments().begin(), state.second_moments().end());
    second.back() += 1.0F;
    const StageState other = StageState::from_tensors(
        state.layout(),
        state.version(),
        {state.weights().begin(), state.weights().end()},
        {state.first_moments().begin(), state.first_moments().end()},
        second
    );
    EXPECT_NE(other.hash(), state.hash());
}

/// A layout of one matrix and one gain, of two elements each.
StageLayout two_tensors() {
    StageLayout layout;
    layout.tensors = {{"layers.0.attn.wo", {1, 2}}, {"layers.0.attn_norm", {2}}};
    return layout;
}

TEST(AdamW, FollowsTheFormulaOverSeveralSteps) {
    const swarm::run::OptimizerConfig optimizer;
    StageState state = StageState::from_tensors(
        two_tensors(), {}, {0.5F, -2.0F, 1.0F, 1.0F}, std::vector<float>(4), std::vector<float>(4)
    );
    std::vector<double> w{0.5, -2.0, 1.0, 1.0};
    std::vector<double> m(4);
    std::vector<double> v(4);
    const std::vector<float> gradient{0.25F, -3.0F, 1e-3F, 0.0F};
    for (int step = 1; step <= 5; ++step) {
        const StepScalars scalars{
            0.5, 0.01, 1 - std::pow(optimizer.beta1, step), 1 - std::pow(optimizer.beta2, step)};
        state.apply(optimizer, scalars, gradient);
        for (std::size_t i = 0; i < 4; ++i) {
            const double g = 0.5 * static_cast<double>(gradient[i]);
            m[i] = optimizer.beta1 * m[i] + (1 - optimizer.beta1) * g;
            v[i] = optimizer.beta2 * v[i] + (1 - optimizer.beta2) * g * g;
            const double decay = i < 2 ? optimizer.weight_decay * w[i] : 0.0;
            const double size = std::sqrt(v[i] / scalars.bias_correction2) + optimizer.epsilon;
            w[i] -= 0.01 * (m[i] / scalars.bias_correction1 / size + decay);
        }
    }
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_NEAR(static_cast<double>(state.weights()[i]), w[i], 2e-6) << i;
    }
    EXPECT_EQ(state.version().step, 5U);
}

TEST(AdamW, DecaysMatricesOnly) {
    StageState state = StageState::from_tensors(
        two_tensors(), {}, {1.0F, 1.0F, 1.0F, 1.0F}, std::vector<float>(4), std::vector<float>(4)
    );
    state.apply({}, {1.0, 0.5, 0.1, 0.05}, std::vector<float>(4));
    EXPECT_LT(state.weights()[0], 1.0F);
    EXPECT_EQ(state.weights()[2], 1.0F);
}

TEST(AdamW, LeavesOutGroupsThatHaveNoDecay) {
    swarm::run::OptimizerConfig optimizer;
    const auto stepped = [&] {
        StageState state = StageState::from_tensors(
            two_tensors(), {}, std::vector<float>(4, 1.0F), std::vector<float>(4),
            std::vector<float>(4)
        );
        state.apply(optimizer, {1.0, 0.5, 0.1, 0.05}, std::vector<float>(4));
        return std::vector<float>(state.weights().begin(), state.weights().end());
    };
    optimizer.no_decay = {"embed", "layers.1", "mlp"};
    EXPECT_LT(stepped()[0], 1.0F);
    optimizer.no_decay = {"layers.0"};
    EXPECT_EQ(stepped(), std::vector<float>(4, 1.0F));
}

TEST(AdamW, SkipsAStepWhoseClipFactorIsZero) {
    StageState state = trained_state();
    const auto hash = state.hash();
    const auto step = state.version().step;
    state.apply({}, {0.0, 0.5, 0.1, 0.05}, std::vector<float>(state.weights().size(), 1.0F));
    EXPECT_EQ(state.hash(), hash);
    EXPECT_EQ(state.version().step, step + 1);
}

TEST(WeightsHash, IsOneHashOverAllStages) {
    const std::vector<float> weights{1, 2, 3, 4, 5};
    const std::span<const float> all(weights);
    const std::vector<std::span<const float>> whole{all};
    const std::vector<std::span<const float>> split{all.first(2), all.subspan(2)};
    EXPECT_EQ(weights_hash(whole), weights_hash(split));
    EXPECT_EQ(weights_hash(whole), swarm::sha256(std::as_bytes(all)));
}

TEST(FirstState, HasTheHashThatPeersSay) {
    auto config = test::small_run(2);
    for (const StageLayout& layout : swarm::run::partition(config)) {
        const StageState state = StageState::from_seed(config, layout);
        config.mode = swarm::run::SyncMode::Exact;
        EXPECT_EQ(first_state_hash(config, layout), state.hash());
        config.mode = swarm::run::SyncMode::Sparse;
        const auto weights = state.weights();
        EXPECT_EQ(
            first_state_hash(config, layout),
            SparseReplica::hash_of(
                std::make_shared<const std::vector<float>>(weights.begin(), weights.end())
            )
        );
    }
}

}  // namespace
}  // namespace stages
