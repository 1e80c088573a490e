#include "stages/single/single_run.hpp"

#include "compression/codec.hpp"
#include "stages/compute/oracle_compute.hpp"
#include "stages/files/checkpoint.hpp"
#include "tests/unit/stages/scratch_folder.hpp"
#include "tests/unit/stages/small_models.hpp"
#include "tests/wrapped_compute.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

namespace stages {
namespace {

/// Hash of the weights after `steps` steps.
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

TEST(SingleRun, CountsTheMicrobatchesOfAStepWhereTheirNumberGrows) {
    swarm::run::RunConfig config = test::oracle_run(3, 8);
    config.first_microbatches = 2;
    config.grow_steps = 4;
    SingleRun run(config, make_oracle_compute, {});
    for (const std::uint32_t wanted : {2U, 3U, 5U, 6U, 8U, 8U}) {
        const auto record = run.step();
        ASSERT_TRUE(record.has_value()) << record.error().detail;
        EXPECT_EQ(record->counted_once, wanted);
        EXPECT_EQ(record->counted_wrong, 0U);
    }
}

TEST(SingleRun, AGrowingBatchGivesTheSameBitsForAnySplit) {
    const auto after = [](std::uint32_t stages) {
        swarm::run::RunConfig config = test::small_run(stages);
        config.first_microbatches = 1;
        config.grow_steps = 3;
        return train(config, test::make_noise_compute, 5);
    };
    EXPECT_EQ(after(1), after(3));
    EXPECT_NE(after(1), train(test::small_run(1), test::make_noise_compute, 5));
}

TEST(SingleRun, SkipsAStepWithALossThatIsNotFinite) {
    const auto make = [](const auto& config, const auto& layout) {
        auto oracle = make_oracle_compute(config, layout);
        // These losses are those of microbatch 2 in the first step and microbatch 0 in the second.
        return test::make_losses_not_finite(std::move(oracle), {2, 3});
    };
    SingleRun run(test::oracle_run(2, 4), make, {});
    const swarm::Digest seed = run.weights_sha256();
    for (const char* const which : {"microbatch 2: ", "microbatch 0: "}) {
        const auto record = run.step();
        ASSERT_TRUE(record.has_value()) << record.error().detail;
        ASSERT_TRUE(record->skipped);
        EXPECT_TRUE(record->skipped->starts_with(which)) << *record->skipped;
        EXPECT_EQ(run.weights_sha256(), seed);
    }
    EXPECT_EQ(run.skips_in_a_row(), 2U);
    EXPECT_EQ(run.version().step, 2U);
    const auto sound = run.step();
    ASSERT_TRUE(sound.has_value());
    EXPECT_EQ(sound->counted_once, 4U) << "nothing is left of what was added before";
    EXPECT_EQ(sound->counted_wrong, 0U);
    EXPECT_EQ(run.skips_in_a_row(), 0U);
    EXPECT_NE(run.weights_sha256(), seed);
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

swarm::run::RunConfig tied_run(std::uint32_t stages) {
    auto config = test::small_run(stages);
    config.model.tied_embeddings = true;
    return config;
}

TEST(SingleRun, TiedModelsEndWithTheSameWeightsForEveryNumberOfStages) {
    const auto one = train(tied_run(1), test::make_noise_compute, 4);
    EXPECT_EQ(train(tied_run(2), test::make_noise_compute, 4), one);
    EXPECT_EQ(train(tied_run(3), test::make_noise_compute, 4), one);
    EXPECT_NE(train(test::small_run(1), test::make_noise_compute, 4), one);
}

TEST(SingleRun, KeepsBothCopiesOfATiedMatrixEqual) {
    SingleRun run(tied_run(3), test::make_noise_compute, {});
    const std::size_t count = swarm::run::partition(tied_run(3))[0].tensors[0].elements();
    const auto seed = run.weights_sha256();
    for (int step = 0; step < 4; ++step) {
        for (const auto of :
             {&StageState::weights, &StageState::first_moments, &StageState::second_moments}) {
            const auto embedding = (run.state(0).*of)().first(count);
            const auto head = (run.state(2).*of)().last(count);
            EXPECT_TRUE(std::equal(embedding.begin(), embedding.end(), head.begin())) << step;
        }
        ASSERT_TRUE(run.step().has_value());
    }
    EXPECT_NE(run.weights_sha256(), seed);
}

/// A compute whose gradient is 1 in the embedding, 2 in the head and 0 elsewhere.
class OneBelowTwoAbove final : public test::WrappedCompute {
 public:
    OneBelowTwoAbove(std::unique_ptr<StageCompute> inner, const swarm::run::StageLayout& layout)
        : WrappedCompute(std::move(inner)), layout_(layout) {}

    Result<TailOutput> forward_tail(
        const StageTensor* input, std::span<const std::uint32_t> tokens, std::span<float> gradient
    ) override {
        auto output = WrappedCompute::forward_tail(input, tokens, gradient);
        fill(gradient);
        return output;
    }

    Result<StageTensor> backward(
        GraphKey key, const StageTensor& by_output, std::span<float> gradient
    ) override {
        auto output = WrappedCompute::backward(key, by_output, gradient);
        fill(gradient);
        return output;
    }

 private:
    void fill(std::span<float> gradient) const {
        std::fill(gradient.begin(), gradient.end(), 0.0F);
        if (layout_.has_embedding) {
            const auto part = gradient.first(layout_.tensors.front().elements());
            std::fill(part.begin(), part.end(), 1.0F);
        }
        if (layout_.has_head) {
            const auto part = gradient.last(layout_.tensors.back().elements());
            std::fill(part.begin(), part.end(), 2.0F);
        }
    }

    swarm::run::StageLayout layout_;
};

/// Every microbatch counts in both uses of the matrix, and the norm counts the matrix once.
TEST(SingleRun, AddsBothUsesOfATiedMatrix) {
    const auto make = [](const auto& config, const auto& layout) {
        return std::make_unique<OneBelowTwoAbove>(test::make_noise_compute(config, layout), layout);
    };
    for (const std::uint32_t stages : {1U, 3U}) {
        const auto config = tied_run(stages);
        SingleRun run(config, make, {});
        const auto record = run.step();
        ASSERT_TRUE(record.has_value()) << record.error().detail;
        const auto elements = swarm::run::partition(config)[0].tensors[0].elements();
        EXPECT_DOUBLE_EQ(
            record->gradient_norm,
            3.0 * config.microbatches * std::sqrt(static_cast<double>(elements))
        ) << stages;
        EXPECT_EQ(record->counted_once, config.microbatches);
        EXPECT_EQ(record->counted_wrong, 0U);
    }
}

/// Weights change their stage together with their moments.
TEST(SingleRun, CanBeCutAnewBetweenTwoSteps) {
    const auto uncut = train(test::small_run(2), test::make_noise_compute, 4);
    auto config = test::small_run(2);
    config.layers_per_stage = {2, 1};
    SingleRun run(config, test::make_noise_compute, {});
    EXPECT_TRUE(run.step().has_value());
    EXPECT_TRUE(run.step().has_value());
    run.cut_as({1, 2});
    EXPECT_EQ(run.layers_per_stage(), (std::vector<std::uint32_t>{1, 2}));
    EXPECT_EQ(run.version().step, 2U);
    EXPECT_TRUE(run.step().has_value());
    EXPECT_TRUE(run.step().has_value());
    EXPECT_EQ(run.weights_sha256(), uncut);
}

TEST(SingleRun, RepeatsItselfBitForBitWithEveryCodec) {
    for (const auto& codec : compression::codecs_on(compression::simd::Path::Scalar)) {
        if (!codec->check_role(compression::TensorRole::Activation)) {
            continue;
        }
        SCOPED_TRACE(codec->name());
        auto config = test::small_run(3);
        config.codec = swarm::run::CodecSetting::find(codec->name()).value();
        const auto once = train(config, test::make_noise_compute, 3);
        EXPECT_EQ(train(config, test::make_noise_compute, 3), once);
        EXPECT_NE(train(config, test::make_noise_compute, 4), once);
    }
}

float sum_of(std::span<const float> values) {
    return std::accumulate(values.begin(), values.end(), 0.0F);
}

/// A compute whose gradients depend on its input.
class ShowsItsInput final : public test::WrappedCompute {
 public:
    using WrappedCompute::WrappedCompute;

    Result<TailOutput> forward_tail(
        const StageTensor* input, std::span<const std::uint32_t> tokens, std::span<float> gradient
    ) override {
        auto output = WrappedCompute::forward_tail(input, tokens, gradient);
        gradient[0] += input == nullptr ? 0 : sum_of(input->values);
        return output;
    }

    Result<StageTensor> backward(
        GraphKey key, const StageTensor& by_output, std::span<float> gradient
    ) override {
        auto output = WrappedCompute::backward(key, by_output, gradient);
        gradient[0] += sum_of(by_output.values);
        return output;
    }
};

std::unique_ptr<StageCompute> make_shows_its_input(
    const swarm::run::RunConfig& config, const swarm::run::StageLayout& layout
) {
    return std::make_unique<ShowsItsInput>(test::make_noise_compute(config, layout));
}

TEST(SingleRun, UsesTheCodecsThatItIsGiven) {
    auto config = test::small_run(3);
    config.codec = swarm::run::CodecSetting::find("int4/int8").value();
    const auto named = train(config, make_shows_its_input, 2);
    config.codec = swarm::run::CodecSetting::automatic();
    const auto told = [&](const char* codecs) {
        SingleRun run(config, make_shows_its_input, {});
        run.use_codecs(*swarm::run::parse_leg_codecs(codecs, 3));
        EXPECT_TRUE(run.step().has_value());
        EXPECT_TRUE(run.step().has_value());
        return run.weights_sha256();
    };
    EXPECT_EQ(told("int4/int8,int4/int8"), named);
    EXPECT_NE(told("int4/int8,int8/int8"), named);
    EXPECT_NE(told("int4/int4,int4/int8"), named);
}

TEST(SingleRun, PassesTheOraclesIdsThroughEveryCodec) {
    for (const auto& codec : compression::codecs_on(compression::simd::Path::Scalar)) {
        if (!codec->check_role(compression::TensorRole::Activation)) {
            continue;
        }
        SCOPED_TRACE(codec->name());
        auto config = test::oracle_run(6, 2048);
        config.codec = swarm::run::CodecSetting::find(codec->name()).value();
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

void expect_resumes_with_other_stages(const swarm::run::RunConfig& config) {
    const test::ScratchFolder scratch;
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

TEST(SingleRun, EndsAsIfUninterruptedAfterAResumeWithOtherStages) {
    expect_resumes_with_other_stages(test::small_run(3));
    expect_resumes_with_other_stages(tied_run(3));
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
