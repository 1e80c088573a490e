// The report of an exact run, besides the verdict that no rule was broken.
#include "sim/run/scenario_run.hpp"

#include <gtest/gtest.h>

#include <map>

namespace sim {
namespace {

SimReport run_of(const std::string& toml, const ExactOptions& options = {}) {
    const swarm::Result<Scenario> scenario = parse_scenario(toml, "test.toml");
    EXPECT_TRUE(scenario) << scenario.error().detail;
    swarm::Result<SimReport> report = run_exact(*scenario, scenario->seed, options);
    EXPECT_TRUE(report) << report.error().detail;
    EXPECT_TRUE(report->violations.empty()) << report->violations.front();
    return std::move(*report);
}

constexpr const char* kSixPeers =
    "duration = '5min'\n[pipeline]\nstages = 2\nmicrobatches = 24\nsteps = 6\n"
    "policy = 'iwrr'\nin_flight = 24\n"
    "[[peers]]\nname = 'fast'\ncount = 4\nunits_per_s = 20\n"
    "[[peers]]\nname = 'slow'\ncount = 2\nunits_per_s = 5\n";

TEST(ExactRun, CountsTheShareOfEachPeerInItsStage) {
    const SimReport report = run_of(kSixPeers);
    ASSERT_EQ(report.shares.size(), 6U);
    std::map<std::uint32_t, std::uint64_t> microbatches;
    std::map<std::uint32_t, double> shares;
    for (const PeerShare& share : report.shares) {
        microbatches[share.stage] += share.microbatches;
        shares[share.stage] += share.share;
        const bool fast = share.peer <= 4;
        EXPECT_TRUE(fast ? share.share > 0.3 : share.share < 0.25) << share.peer;
    }
    for (const std::uint32_t stage : {0U, 1U}) {
        EXPECT_EQ(microbatches[stage], 6U * 24U);
        EXPECT_DOUBLE_EQ(shares[stage], 1.0);
    }
}

TEST(ExactRun, TheFirstStepBeginsWhenThePeersItWaitsForAreThere) {
    std::string toml = kSixPeers;
    toml.insert(toml.find("policy"), "min_peers = 6\n");
    const SimReport report = run_of(toml + "[[plan]]\nat = '60s'\nkind = 'join'\npeer = 6\n");
    ASSERT_EQ(report.steps, 6U);
    EXPECT_GT(report.virtual_s, 60);
    double sum = 0;
    for (const double seconds : report.step_seconds) {
        sum += seconds;
    }
    EXPECT_NEAR(sum, report.virtual_s - 60, 1) << "the wait is part of no step";
}

TEST(ExactRun, EqualsOneProcess) {
    ExactOptions options;
    options.compare_with_single = true;
    EXPECT_EQ(run_of(kSixPeers, options).steps, 6U);
}

}  // namespace
}  // namespace sim
