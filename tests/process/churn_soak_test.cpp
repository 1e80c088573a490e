// An hour of real churn in six runs with other seeds.
#include "tests/process/churn_run.hpp"

#include <gtest/gtest.h>

namespace swarm::test {
namespace {

class ChurnSoak : public testing::TestWithParam<int> {};

TEST_P(ChurnSoak, TenMinutesLoseNothing) {
    const ChurnCounts counts = expect_exact_under_churn(
        {"--steps", "950", "--seed", std::to_string(GetParam())}, std::chrono::minutes(18)
    );
    // Six runs have 500 SIGKILLs, 100 SIGSTOPs, 50 drains and 50 joins in all.
    EXPECT_GE(counts.kills, 84);
    EXPECT_GE(counts.freezes, 17);
    EXPECT_GE(counts.drains, 9);
    EXPECT_GE(counts.joins, 9);
    EXPECT_GE(counts.coordinator_kills, 4);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ChurnSoak, testing::Range(1, 7));

}  // namespace
}  // namespace swarm::test
