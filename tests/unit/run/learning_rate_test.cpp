#include "swarm/run/training/learning_rate.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace swarm::run {
namespace {

/// The demo: 60 steps, 10 of them warm-up, from 3e-3 down to 3e-4.
RunConfig with(Schedule schedule) {
    RunConfig config;
    config.optimizer.schedule = schedule;
    return config;
}

struct Golden {
    std::uint64_t step;
    double rate;
};

void expect_golden(const RunConfig& config, const std::vector<Golden>& golden) {
    for (const auto& [step, rate] : golden) {
        EXPECT_EQ(learning_rate_at(config, step), rate)
            << to_text(config.optimizer.schedule) << ", step " << step;
    }
}

constexpr double kFull = 0x1.89374bc6a7efap-9;
constexpr double kFinal = 0x1.3a92a30553261p-12;

const std::vector<Golden> kWarmUp = {
    {0, 0x1.3a92a30553262p-12}, {4, 0x1.89374bc6a7efap-10}, {9, kFull}};

// The cosine is tried at steps at which the last bit of libm's cos makes no difference.
TEST(LearningRate, HasTheSameBitsEverywhere) {
    for (const Schedule schedule :
         {Schedule::Cosine, Schedule::Linear, Schedule::Wsd, Schedule::Constant}) {
        expect_golden(with(schedule), kWarmUp);
    }
    expect_golden(
        with(Schedule::Cosine),
        {{10, kFull},
         {14, 0x1.836dcd8b0a08dp-9},
         {25, 0x1.3d80d46855102p-9},
         {30, 0x1.0a9d7b1c748a0p-9},
         {35, 0x1.a531d99349839p-10},
         {59, kFinal},
         {99, kFinal}}
    );
    expect_golden(
        with(Schedule::Linear),
        {{10, kFull},
         {11, 0x1.81fe60d978f73p-9},
         {22, 0x1.328c48a8744b0p-9},
         {34, 0x1.b7c28b14814cdp-10},
         {58, 0x1.7459fa6ecae93p-12},
         {59, kFinal},
         {99, kFinal}}
    );
    expect_golden(
        with(Schedule::Wsd),
        {{10, kFull},
         {53, kFull},
         {54, 0x1.4e3bcd35a8588p-9},
         {55, 0x1.13404ea4a8c16p-9},
         {56, 0x1.b089a02752546p-10},
         {57, 0x1.3a92a30553262p-10},
         {58, 0x1.89374bc6a7ef9p-11},
         {59, kFinal},
         {99, kFinal}}
    );
    expect_golden(with(Schedule::Constant), {{10, kFull}, {59, kFull}, {99, kFull}});
}

TEST(LearningRate, TheFallOfWsdHasAsManyStepsAsItIsTold) {
    RunConfig config = with(Schedule::Wsd);
    config.optimizer.decay_steps = 20;
    EXPECT_EQ(learning_rate_at(config, 39), kFull);
    EXPECT_LT(learning_rate_at(config, 40), kFull);
    EXPECT_EQ(learning_rate_at(config, 59), kFinal);
    config.optimizer.decay_steps = 1'000'000;
    EXPECT_EQ(learning_rate_at(config, 10), kFull) << "it begins with the end of the warm-up";
    EXPECT_LT(learning_rate_at(config, 11), kFull);
    EXPECT_EQ(learning_rate_at(config, 59), kFinal);
}

TEST(LearningRate, AWarmUpInTokensEndsWithTheStepThatFillsIt) {
    RunConfig config = with(Schedule::Wsd);
    const std::uint64_t per_step = 8 * 4 * 128;
    config.optimizer.warmup_steps = 0;
    EXPECT_EQ(warmup_length(config), 0U);
    config.optimizer.warmup_tokens = 1;
    EXPECT_EQ(warmup_length(config), 1U);
    config.optimizer.warmup_tokens = 10 * per_step;
    EXPECT_EQ(warmup_length(config), 10U);
    expect_golden(config, kWarmUp);
    config.optimizer.warmup_tokens = 10 * per_step + 1;
    EXPECT_EQ(warmup_length(config), 11U);
    config.batch = 8;
    EXPECT_EQ(warmup_length(config), 6U) << "larger steps need fewer";
}

TEST(LearningRate, ARunThatIsAllWarmUpNeverFalls) {
    for (const Schedule schedule :
         {Schedule::Cosine, Schedule::Linear, Schedule::Wsd, Schedule::Constant}) {
        RunConfig config = with(schedule);
        config.optimizer.warmup_steps = 120;
        EXPECT_EQ(learning_rate_at(config, 59), kFull / 2);
    }
}

TEST(LearningRate, ARunOfOneStepTakesTheFinalRateUnlessItIsConstant) {
    for (const Schedule schedule : {Schedule::Cosine, Schedule::Linear, Schedule::Wsd}) {
        RunConfig config = with(schedule);
        config.steps = 1;
        config.optimizer.warmup_steps = 0;
        EXPECT_EQ(learning_rate_at(config, 0), kFinal);
        config.optimizer.schedule = Schedule::Constant;
        EXPECT_EQ(learning_rate_at(config, 0), kFull);
    }
}

}  // namespace
}  // namespace swarm::run
