#include "tests/process/churn_run.hpp"

#include "tests/places.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>

namespace swarm::test {
namespace {

/// Returns the churn plan beside this file.
const std::string kPlan = source_dir() + "/tests/process/churn_plan.toml";

/// The promise is a p99 of at most 10 s. When few faults were alone, their p99 is their maximum.
constexpr double kRecoveryMax_s = 10;

int count(const LocalRun& run, std::string_view kind) {
    int count = 0;
    for (const boost::json::value& event : run.report.at("events").as_array()) {
        const boost::json::string& name = event.at("kind").as_string();
        count += std::string_view(name.data(), name.size()) == kind ? 1 : 0;
    }
    return count;
}

void expect_quick_recovery(const LocalRun& run) {
    std::vector<double> seconds;
    for (const boost::json::value& recovery : run.report.at("recovery_alone_s").as_array()) {
        seconds.push_back(recovery.as_double());
    }
    ASSERT_FALSE(seconds.empty());
    std::sort(seconds.begin(), seconds.end());
    const double p99 = seconds[(seconds.size() - 1) * 99 / 100];
    std::cout << "next commit after a fault with no other in between: median "
              << seconds[seconds.size() / 2] << " s, p99 " << p99 << " s, worst " << seconds.back()
              << " s, of " << seconds.size() << "\n";
    EXPECT_LE(p99, kRecoveryMax_s);
}

}  // namespace

ChurnCounts expect_exact_under_churn(
    std::vector<std::string> flags, std::chrono::seconds deadline
) {
    flags.insert(
        flags.end(),
        {"--stages", "3", "--peers", "12", "--service-ms", "20", "--churn", kPlan, "--verify"}
    );
    const LocalRun run = run_local(std::move(flags), deadline);
    expect_exact(run);
    if (testing::Test::HasFatalFailure() || !run.report.contains("events")) {
        return {};
    }
    expect_quick_recovery(run);
    const ChurnCounts counts{
        count(run, "kill"),
        count(run, "freeze"),
        count(run, "drain"),
        count(run, "join"),
        count(run, "coordinator_kill")};
    std::cout << counts.kills << " SIGKILLs, " << counts.freezes << " SIGSTOPs, " << counts.drains
              << " drains, " << counts.joins << " joins, " << counts.coordinator_kills
              << " coordinators killed\n";
    return counts;
}

}  // namespace swarm::test
