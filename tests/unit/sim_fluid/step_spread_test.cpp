#include "sim/fluid/step_spread.hpp"

#include <gtest/gtest.h>

namespace sim {
namespace {

TEST(StepSpread, KnowsNothingWithoutAWholeStep) {
    StepSpread spread;
    EXPECT_FALSE(spread.times());
    spread.add(1, 0.9);
    EXPECT_FALSE(spread.times());
}

TEST(StepSpread, WeighsByStepsNotByStretches) {
    StepSpread spread;
    spread.add(1, 98);
    spread.add(51, 2);
    const StepTimes times = *spread.times();
    EXPECT_DOUBLE_EQ(times.mean, 2);
    EXPECT_DOUBLE_EQ(times.p50, 1);
    EXPECT_DOUBLE_EQ(times.p99, 51);
}

}  // namespace
}  // namespace sim
