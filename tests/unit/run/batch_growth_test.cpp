#include "swarm/run/training/batch_growth.hpp"

#include "swarm/run/batch_plan.hpp"
#include "swarm/run/step_scalars.hpp"
#include "swarm/run/training/learning_rate.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <utility>
#include <vector>

namespace swarm::run {
namespace {

RunConfig growing(std::uint32_t first, std::uint32_t last, std::uint32_t steps) {
    RunConfig config;
    config.first_microbatches = first;
    config.microbatches = last;
    config.grow_steps = steps;
    return config;
}

TEST(BatchGrowth, IsALineThatIsRoundedDown) {
    const RunConfig config = growing(2, 8, 4);
    const std::vector<std::uint32_t> wanted{2, 3, 5, 6, 8, 8, 8};
    for (std::uint64_t step = 0; step < wanted.size(); ++step) {
        EXPECT_EQ(microbatches_of(config, step), wanted[step]) << step;
    }
}

TEST(BatchGrowth, IsNoneWithoutAFirstNumber) {
    for (const RunConfig& config : {growing(0, 8, 0), growing(0, 8, 4), growing(8, 8, 4)}) {
        for (const std::uint64_t step : {0U, 3U, 100U}) {
            EXPECT_EQ(microbatches_of(config, step), 8U);
            EXPECT_EQ(microbatches_before(config, step), 8 * step);
        }
    }
}

TEST(BatchGrowth, CountsWhatIsBeforeAStep) {
    for (const auto& [first, last] :
         {std::pair(1U, 2U), std::pair(1U, 8U), std::pair(3U, 64U), std::pair(7U, 2048U)}) {
        for (const std::uint32_t steps : {1U, 2U, 5U, 97U, 1000U}) {
            const RunConfig config = growing(first, last, steps);
            std::uint64_t sum = 0;
            for (std::uint64_t step = 0; step < 2 * steps + 3; ++step) {
                ASSERT_EQ(microbatches_before(config, step), sum) << last << ", " << step;
                sum += microbatches_of(config, step);
            }
        }
    }
    const RunConfig longest = growing(1, 2048, 1'000'000'000);
    // 2,047 has no common factor with the steps, so the floors add up to 2,046 x (steps - 1) / 2.
    EXPECT_EQ(microbatches_before(longest, 1'000'000'000), 1'000'000'000U + 1023ULL * 999'999'999U);
}

TEST(BatchGrowth, FindsTheStepBeforeWhichThereWereSoManyTokens) {
    RunConfig config = growing(2, 9, 6);
    config.batch = 2;
    config.model.context = 5;
    std::uint64_t before = 0;
    for (std::uint64_t step = 0; step < 12; ++step) {
        EXPECT_EQ(steps_with_tokens(config, before), step);
        EXPECT_EQ(steps_with_tokens(config, before + 1), step + 1);
        EXPECT_EQ(tokens_of(config, step), microbatches_of(config, step) * 10U);
        before += tokens_of(config, step);
    }
    config.optimizer.warmup_steps = 0;
    config.optimizer.warmup_tokens = microbatches_before(config, 4) * 10;
    EXPECT_EQ(warmup_length(config), 4U);
}

/// Rows whose tokens are their number.
class RowsOfTheirNumber final : public SampleRows {
 public:
    void read(std::uint64_t number, std::span<std::uint32_t> ids) const override {
        for (std::uint32_t& id : ids) {
            id = static_cast<std::uint32_t>(number);
        }
    }
};

TEST(BatchGrowth, ReadsEachRowOnceInOrder) {
    RunConfig config = growing(1, 5, 7);
    config.batch = 3;
    config.model.context = 1;
    const RowsOfTheirNumber rows;
    const BatchPlan plan(config, {}, &rows);
    std::uint32_t next = 0;
    for (std::uint64_t step = 0; step < 10; ++step) {
        for (std::uint32_t m = 0; m < microbatches_of(config, step); ++m) {
            const std::vector<std::uint32_t> tokens = plan.tokens(step, {m});
            for (std::size_t i = 0; i < tokens.size(); i += 2) {
                EXPECT_EQ(tokens[i], next++) << "step " << step;
            }
        }
    }
    EXPECT_EQ(next, 3 * microbatches_before(config, 10));
}

TEST(BatchGrowth, AStepGoesByTheMeanOfItsOwnMicrobatches) {
    // The sums are those of gradients that count as an eighth each; step 0 has two of them.
    const RunConfig config = growing(2, 8, 4);
    const std::array squares{9.0, 16.0};
    EXPECT_EQ(gradient_norm(config, 0, squares), 20.0);
    EXPECT_EQ(gradient_norm(config, 4, squares), 5.0);
    RunConfig free = config;
    free.optimizer.clip_norm = 1e9;
    EXPECT_EQ(step_scalars(free, 0, squares).clip_factor, 4.0);
    EXPECT_EQ(step_scalars(free, 4, squares).clip_factor, 1.0);
    RunConfig clipped = config;
    clipped.optimizer.clip_norm = 10;
    EXPECT_EQ(step_scalars(clipped, 0, squares).clip_factor, 2.0);
}

}  // namespace
}  // namespace swarm::run
