// The drawn fleets of chaos_scenarios_test.cpp for half an hour each, 20,000 of them, and 2,000
// rough ones for five minutes: hours of work, so only `./swarm.sh test --long` runs them.
#include "tests/simulation/drawn_fleet.hpp"

#include <gtest/gtest.h>

namespace sim::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kSeedsPerTest = 100;

class HalfHours : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(HalfHours, KeepEveryRuleAndCommitInTheCalm) {
    Sums sums;
    for (std::uint64_t i = 0; i < kSeedsPerTest && !HasFatalFailure(); ++i) {
        const std::uint64_t seed = GetParam() * kSeedsPerTest + i;
        run_scenario(drawn_fleet(seed, Speed::Brisk, 30min), sums);
    }
    print(sums);
    EXPECT_GT(sums.notes, kSeedsPerTest);
}

INSTANTIATE_TEST_SUITE_P(Batch, HalfHours, ::testing::Range<std::uint64_t>(0, 200));

class RoughFleets : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(RoughFleets, KeepEveryRuleThroughDrainsDonorDeathsAndTornDisks) {
    Sums sums;
    for (std::uint64_t i = 0; i < kSeedsPerTest && !HasFatalFailure(); ++i) {
        const std::uint64_t seed = GetParam() * kSeedsPerTest + i;
        run_scenario(rough_fleet(seed, Speed::Brisk, 5min), sums);
    }
    print(sums);
    EXPECT_GT(sums.rough.drains, kSeedsPerTest);
    EXPECT_GT(sums.rough.donor_deaths, 0U);
    EXPECT_GT(sums.rough.torn_disks, 0U);
}

INSTANTIATE_TEST_SUITE_P(Batch, RoughFleets, ::testing::Range<std::uint64_t>(0, 20));

}  // namespace
}  // namespace sim::test
