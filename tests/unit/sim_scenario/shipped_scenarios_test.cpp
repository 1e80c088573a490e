// The scenarios in sim/scenarios: each can be read, says what it asks, and has a schedule.
#include "sim/scenario/schedule.hpp"
#include "tests/places.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace sim {
namespace {

std::vector<std::string> shipped() {
    const auto folder = std::filesystem::path(swarm::test::source_dir()) / "sim" / "scenarios";
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() == ".toml") {
            paths.push_back(entry.path().string());
        }
    }
    std::sort(paths.begin(), paths.end());
    return paths;
}

class ShippedScenario : public testing::TestWithParam<std::string> {};

TEST_P(ShippedScenario, IsReadAndHasASchedule) {
    const auto scenario = load_scenario(GetParam());
    ASSERT_TRUE(scenario.has_value()) << scenario.error().detail;
    const auto schedule = make_schedule(*scenario, scenario->seed);
    ASSERT_TRUE(schedule.has_value()) << schedule.error().detail;
    EXPECT_GE(schedule->fleet.size(), peers_of(*scenario));
    const bool troubled =
        scenario->churn.mtbf > Duration{} || !scenario->churn.trace.empty() ||
        scenario->churn.arrivals_per_hour > 0 || !scenario->plan.empty() ||
        scenario->faults.freeze.per_hour > 0 || scenario->faults.partition.per_hour > 0 ||
        scenario->faults.slow_down.per_hour > 0 || scenario->faults.cut_links.per_hour > 0;
    EXPECT_EQ(schedule->happenings.empty(), !troubled);
}

TEST_P(ShippedScenario, BeginsWithQuestionExpectationAndSource) {
    std::ifstream in(GetParam());
    for (const char* label : {"# Question: ", "# Expectation: ", "# Source: "}) {
        std::string line;
        ASSERT_TRUE(std::getline(in, line));
        EXPECT_TRUE(line.starts_with(label)) << line;
        EXPECT_GT(line.size(), std::string(label).size() + 10) << line;
        EXPECT_LE(line.size(), 100U) << line;
    }
    const auto scenario = load_scenario(GetParam());
    ASSERT_TRUE(scenario.has_value()) << scenario.error().detail;
    EXPECT_TRUE(scenario->question.ends_with('?')) << scenario->question;
}

std::string name_of_file(const testing::TestParamInfo<std::string>& info) {
    std::string name = std::filesystem::path(info.param).stem().string();
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

INSTANTIATE_TEST_SUITE_P(All, ShippedScenario, testing::ValuesIn(shipped()), name_of_file);

TEST(ShippedScenarios, AreTwelveAtLeast) {
    EXPECT_GE(shipped().size(), 12U);
}

TEST(ShippedScenarios, VolunteersScaleToAThousandPeersForADay) {
    const auto path =
        std::filesystem::path(swarm::test::source_dir()) / "sim/scenarios/volunteers.toml";
    const auto scenario = load_scenario(
        path.string(),
        {{"peers", "1000"}, {"duration", "32h"}, {"churn.mtbf", "2h"}, {"mode", "fluid"}}
    );
    ASSERT_TRUE(scenario.has_value()) << scenario.error().detail;
    EXPECT_EQ(peers_of(*scenario), 1000U);
    const auto schedule = make_schedule(*scenario, 1);
    ASSERT_TRUE(schedule.has_value()) << schedule.error().detail;
    EXPECT_GT(schedule->happenings.size(), 10'000U);
}

}  // namespace
}  // namespace sim
