#include "stages/single_run.hpp"

#include "compression/codec.hpp"
#include "stages/checkpoint.hpp"
#include "stages/oracle_compute.hpp"
#include "tests/unit/stages/scratch_folder.hpp"
#include "tests/unit/stages/small_models.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace stages {
namespace {

/// The weights after so many steps.
swarm::Digest train(swarm::run::RunConfig config, MakeCompute make_compute, int steps) {
    SingleRun run(std::move(config), make_compute, {});
    for (int step = 0; step < steps; ++step) {
        EXPECT_TRUE(run.step().has_value());
    }
    return run.weights_sha256();
}

TEST(SingleRun, CountsEveryMicrobatchOnceAtEveryStage) {
    SingleRun run(test::oracle_run(3, 8), make_oracle_compute, {});
    for (std::uint64_t step = 0; step < 5; ++step) {
        const auto record = run.step();
        ASSERT_TRUE(record.has_value()) << record.error().detail;
        EXPECT_EQ(record->step, step);
        EXPECT_EQ(record->counted_once, 8U);
        EXPECT_EQ(record->counted_wrong, 0U);
        EXPECT_DOUBLE_EQ(record->gradient_norm, std::sqrt(8.0 * 6));
        EXPECT_EQ(run.version().step, step + 1);
    }
}

TEST(SingleRun, LowersTheOraclesLossWithEachStep) {
    SingleRun run(test::oracle_run(2, 4), make_oracle_compute, {});
    double last = 2;
    for (int step = 0; step < 5; ++step) {
        const auto record = run.step();
        ASSERT_TRUE(record.has_value());
        EXPECT_LT(record->loss, last);
        last = record->loss;
    }
}

TEST(SingleRun, EndsWithTheSameWeightsForEveryNumberOfStages) {
    const auto one = train(test::small_run(1), test::make_noise_compute, 4);
    EXPECT_EQ(train(test::small_run(2), test::make_noise_compute, 4), one);
    EXPECT_EQ(train(test::small_run(3), test::make_noise_compute, 4), one);
    const auto oracle = train(test::oracle_run(1, 7), make_oracle_compute, 4);
    EXPECT_EQ(train(test::oracle_run(6, 7), make_oracle_compute, 4), oracle);
}

TEST(SingleRun, RepeatsItselfBitForBitWithEveryCodec) {
    for (const auto& codec : compression::codecs_on(compression::simd::Path::Scalar)) {
        SCOPED_TRACE(codec->name());
        auto config = test::small_run(3);
        config.codec = codec->name();
        const auto once = train(config, test::make_noise_compute, 3);
        EXPECT_EQ(train(config, test::make_noise_compute, 3), once);
        EXPECT_NE(train(config, test::make_noise_compute, 4), once);
    }
}

TEST(SingleRun, PassesTheOraclesIdsThroughEveryCodec) {
    for (const auto& codec : compression::codecs_on(compression::simd::Path::Scalar)) {
        SCOPED_TRACE(codec->name());
        auto config = test::oracle_run(6, 2048);
        config.codec = codec->name();
        config.model.vocabulary = 2048;
        SingleRun run(config, make_oracle_compute, {});
        const auto record = run.step();
        ASSERT_TRUE(record.has_value()) << record.error().detail;
        EXPECT_EQ(record->counted_once, 2048U);
    }
}

TEST(SingleRun, ChangesWithTheSeed) {
    auto config = test::small_run(2);
    const auto one = train(config, test::make_noise_compute, 2);
    config.seed = 2;
    EXPECT_NE(train(config, test::make_noise_compute, 2), one);
}

TEST(SingleRun, EndsAsIfUninterruptedAfterAResumeWithOtherStages) {
    const test::ScratchFolder scratch;
    const auto config = test::small_run(3);
    {
        SingleRun run(config, test::make_noise_compute, {});
        ASSERT_TRUE(run.step() && run.step());
        std::vector<const StageState*> states;
        for (std::uint32_t s = 0; s < run.stages(); ++s) {
            states.push_back(&run.state(s));
        }
        ASSERT_TRUE(write_checkpoint(scratch.path(), config, states));
    }
    for (std::uint32_t stages = 1; stages <= 3; ++stages) {
        const auto found = find_latest(scratch.path());
        ASSERT_TRUE(found.has_value()) << found.error().detail;
        auto resumed_config = found->checkpoint.config;
        resumed_config.stages = stages;
        SingleRun run(resumed_config, test::make_noise_compute, {});
        auto states = restore_stages(found->checkpoint, swarm::run::partition(resumed_config));
        ASSERT_TRUE(states.has_value());
        run.resume(std::move(*states));
        EXPECT_EQ(run.version().step, 2U);
        ASSERT_TRUE(run.step() && run.step());
        EXPECT_EQ(run.weights_sha256(), train(config, test::make_noise_compute, 4)) << stages;
    }
}

TEST(SingleRun, ContinuesAPromptThroughAllStages) {
    SingleRun run(test::oracle_run(3, 4), make_oracle_compute, {});
    const auto logits = run.infer(std::vector<std::uint32_t>{9, 40});
    ASSERT_TRUE(logits.has_value());
    float score = 0;
    std::memcpy(&score, logits->bytes().data() + 41 * sizeof(float), sizeof(float));
    EXPECT_EQ(score, 1.0F);
}

}  // namespace
}  // namespace stages
