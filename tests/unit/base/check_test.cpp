#include "swarm/base/check.hpp"

#include <gtest/gtest.h>

namespace swarm {

TEST(CheckDeathTest, FailedAssertionNamesConditionAndPlace) {
    EXPECT_DEATH(SWARM_ASSERT(1 + 1 == 3), "check_test.cpp:[0-9]+: assertion failed: 1 \\+ 1 == 3");
}

TEST(Check, EvaluatesItsConditionOnce) {
    int evaluated = 0;
    SWARM_ASSERT(++evaluated == 1);
    EXPECT_EQ(evaluated, 1);
}

}  // namespace swarm
