// Real churn for minutes: every step is counted once, and the weights are those of one process.
#include "tests/process/churn_run.hpp"

#include <gtest/gtest.h>

namespace swarm::test {
namespace {

using std::chrono::minutes;

TEST(Churn, AFewMinutesLoseNothing) {
    const ChurnCounts counts =
        expect_exact_under_churn({"--steps", "140", "--seed", "2"}, minutes(9));
    EXPECT_GE(counts.kills, 7);
    EXPECT_GE(counts.freezes, 2);
    EXPECT_GE(counts.drains, 1);
    EXPECT_GE(counts.joins, 7);
    EXPECT_GE(counts.coordinator_kills, 1);
}

}  // namespace
}  // namespace swarm::test
