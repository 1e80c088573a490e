// The drawn fleets of chaos_scenarios_test.cpp for half an hour each, 20,000 of them: hours of
// work, so only `./swarm.sh test --long` runs them.
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

}  // namespace
}  // namespace sim::test
