#include "swarm/run/step_scalars.hpp"

#include <gtest/gtest.h>

#include <array>

namespace swarm::run {
namespace {

constexpr std::array kUnitNorm{1.0};

RunConfig config_of(std::uint64_t steps, std::uint32_t warmup_steps) {
    RunConfig config;
    config.steps = steps;
    config.optimizer.warmup_steps = warmup_steps;
    config.optimizer.learning_rate = 1.0;
    config.optimizer.final_learning_rate = 0.25;
    return config;
}

double rate(const RunConfig& config, std::uint64_t step) {
    return step_scalars(config, step, kUnitNorm).learning_rate;
}

TEST(StepScalars, WarmsUpInEqualStepsToTheFullRate) {
    const RunConfig config = config_of(100, 4);
    EXPECT_EQ(rate(config, 0), 0.25);
    EXPECT_EQ(rate(config, 1), 0.5);
    EXPECT_EQ(rate(config, 3), 1.0);
    EXPECT_EQ(rate(config, 4), 1.0);
}

TEST(StepScalars, FallsOnACosineToTheFinalRateAtTheLastStep) {
    const RunConfig config = config_of(11, 0);
    EXPECT_EQ(rate(config, 0), 1.0);
    EXPECT_NEAR(rate(config, 5), 0.625, 1e-15);
    EXPECT_EQ(rate(config, 10), 0.25);
    for (std::uint64_t step = 1; step < 11; ++step) {
        EXPECT_LT(rate(config, step), rate(config, step - 1)) << step;
    }
}

TEST(StepScalars, StaysAtTheFinalRateBeyondTheLastStep) {
    EXPECT_EQ(rate(config_of(11, 0), 50), 0.25);
}

TEST(StepScalars, AWarmUpLongerThanTheRunIsAllWarmUp) {
    const RunConfig config = config_of(3, 6);
    EXPECT_EQ(rate(config, 2), 0.5);
}

TEST(StepScalars, ARunOfOneStepTakesTheFinalRate) {
    EXPECT_EQ(rate(config_of(1, 0), 0), 0.25);
}

TEST(StepScalars, BiasCorrectionsCountTheCurrentStep) {
    RunConfig config;
    config.optimizer.beta1 = 0.5;
    config.optimizer.beta2 = 0.75;
    const auto first = step_scalars(config, 0, kUnitNorm);
    EXPECT_EQ(first.bias_correction1, 0.5);
    EXPECT_EQ(first.bias_correction2, 0.25);
    EXPECT_EQ(step_scalars(config, 1, kUnitNorm).bias_correction1, 0.75);
}

TEST(StepScalars, ClipsALongGradientToTheNormAndLeavesAShortOne) {
    RunConfig config;
    config.optimizer.clip_norm = 2.5;
    EXPECT_EQ(step_scalars(config, 0, std::array{9.0, 16.0}).clip_factor, 0.5);
    EXPECT_EQ(step_scalars(config, 0, std::array{4.0, 2.25}).clip_factor, 1.0);
    EXPECT_EQ(step_scalars(config, 0, std::array{0.0}).clip_factor, 1.0);
}

TEST(LocalScalars, AReplicaWithAllMicrobatchesHasTheScalarsOfExact) {
    RunConfig config;
    config.microbatches = 6;
    std::array squares{0.0, 0.0};
    add_local_squares(config, std::array{9.0, 16.0}, 6, squares);
    EXPECT_EQ(squares, (std::array{9.0, 16.0}));
    const auto scalars = step_scalars(config, 3, squares);
    const auto own = local_scalars(config, scalars, 6);
    EXPECT_EQ(own.clip_factor, scalars.clip_factor);
    EXPECT_EQ(own.learning_rate, scalars.learning_rate);
}

TEST(LocalScalars, AReplicaStepsByTheMeanOfItsOwnMicrobatches) {
    // Two replicas have 1 and 3 of 4 equal gradients of norm 8, each counted as a quarter.
    RunConfig config;
    config.microbatches = 4;
    config.optimizer.clip_norm = 1e9;
    std::array squares{0.0};
    add_local_squares(config, std::array{2.0 * 2.0}, 1, squares);
    add_local_squares(config, std::array{6.0 * 6.0}, 3, squares);
    EXPECT_EQ(gradient_norm(squares), 8.0);
    const auto scalars = step_scalars(config, 0, squares);
    EXPECT_EQ(local_scalars(config, scalars, 1).clip_factor * 2.0, 8.0);
    EXPECT_EQ(local_scalars(config, scalars, 3).clip_factor * 6.0, 8.0);
}

TEST(GradientNorm, IsTheRootOfTheSum) {
    EXPECT_EQ(gradient_norm(std::array{9.0, 16.0}), 5.0);
}

TEST(GradientNorm, AddsFromTheFirstTensorOn) {
    // No sum of squares is negative; the sign only makes the order visible.
    constexpr double kBig = 0x1.0p106;
    EXPECT_EQ(gradient_norm(std::array{kBig, -kBig, 4.0}), 2.0);
    EXPECT_EQ(gradient_norm(std::array{4.0, kBig, -kBig}), 0.0);
}

}  // namespace
}  // namespace swarm::run
