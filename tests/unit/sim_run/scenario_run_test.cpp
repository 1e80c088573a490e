#include "sim/run/scenario_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace sim {
namespace {

using namespace std::chrono_literals;

/// Two stages of two peers that need 3 s of a device for a microbatch's forward and backward.
Scenario small_scenario() {
    Scenario scenario;
    scenario.name = "small";
    scenario.duration = 60s;
    scenario.pipeline.stages = 2;
    scenario.pipeline.microbatches = 4;
    scenario.groups.front().count = 4;
    scenario.groups.front().units_per_s = {Draw::Kind::Constant, {1.0}};
    return scenario;
}

SimReport run(const Scenario& scenario, const ExactOptions& options = {}) {
    return *run_exact(scenario, 1, options);
}

void crash(Scenario& scenario, std::uint32_t peer, Duration at, Duration back_at) {
    scenario.plan.push_back({Planned::Kind::Crash, at, peer});
    scenario.plan.push_back({Planned::Kind::Join, back_at, peer});
}

TEST(RunExact, CarriesTheLargestStateThatAScenarioMayHave) {
    Scenario scenario = small_scenario();
    scenario.pipeline.state_bytes = 15'000'000'000;
    scenario.groups.front().up_bytes_per_s = {Draw::Kind::Constant, {1e10}};
    scenario.groups.front().down_bytes_per_s = {Draw::Kind::Constant, {1e10}};
    scenario.duration = 2min;
    crash(scenario, 4, 10s, 30s);
    const SimReport report = run(scenario);
    EXPECT_TRUE(report.violations.empty()) << report.violations.front();
    EXPECT_GT(report.steps, 4U);
    EXPECT_GT(report.bytes, 15'000'000'000U);
}

TEST(RunExact, SurvivesWorkThatTakesLongerThanAnyRun) {
    Scenario scenario = small_scenario();
    scenario.pipeline.work_units = 1e12;
    const SimReport report = run(scenario);
    EXPECT_EQ(report.steps, 0U);
    EXPECT_EQ(report.virtual_s, 60);
}

std::vector<NoteKind> kinds(const SimReport& report) {
    std::vector<NoteKind> found;
    for (const Note& note : report.notes) {
        found.push_back(note.kind);
    }
    return found;
}

TEST(RunExact, NotesTheCoordinatorsDecisionsAmongTheEvents) {
    Scenario scenario = small_scenario();
    scenario.plan.push_back({Planned::Kind::Freeze, 10s, 4, 0, 20s});
    const SimReport report = run(scenario);
    EXPECT_EQ(kinds(report), (std::vector{NoteKind::Freeze, NoteKind::Fenced, NoteKind::Thaw}));
    EXPECT_TRUE(report.notes[1].text.starts_with("peer 4 of stage 1: ")) << report.notes[1].text;
    EXPECT_GT(report.notes[1].at_s, 10);
    EXPECT_LT(report.notes[1].at_s, 30);
}

TEST(RunExact, NotesMoves) {
    Scenario scenario = small_scenario();
    scenario.groups.front().count = 6;
    scenario.duration = 10min;
    scenario.pipeline.rebalancer = "swarm-alg2";
    scenario.pipeline.rebalance_every = 30s;
    scenario.plan.push_back({Planned::Kind::Leave, 10s, 2});
    scenario.plan.push_back({Planned::Kind::Leave, 10s, 4});
    const SimReport report = run(scenario);
    ASSERT_GE(report.moves, 1U);
    const std::vector<NoteKind> all = kinds(report);
    const auto moves = std::count(all.begin(), all.end(), NoteKind::Move);
    EXPECT_EQ(static_cast<std::uint64_t>(moves), report.moves);
}

TEST(RunExact, TheLastSampleIsOfTheEnd) {
    Scenario scenario = small_scenario();
    scenario.pipeline.steps = 1;  // done before the first sample
    scenario.duration = 24h;
    const SimReport report = run(scenario);
    ASSERT_EQ(report.samples.size(), 1U);
    EXPECT_EQ(report.samples[0].at_s, report.virtual_s);
    ASSERT_EQ(report.utilisation_per_stage.size(), 2U);
    EXPECT_GT(report.utilisation_per_stage[0], 0.3);
    EXPECT_NEAR(
        (report.utilisation_per_stage[0] + report.utilisation_per_stage[1]) / 2,
        report.utilisation,
        1e-3
    );
}

TEST(RunExact, TakesNoMoreSamplesThanAllowed) {
    Scenario scenario = small_scenario();
    scenario.duration = 59'999'999'999ns;
    const SimReport report = run(scenario);
    EXPECT_LE(report.samples.size(), kSamplesMax);
    EXPECT_EQ(report.samples.back().at_s, report.virtual_s);
}

TEST(RunExact, AsksBetweenSamplesToo) {
    Scenario scenario = small_scenario();
    scenario.duration = 24h * 300;  // twelve hours between two samples
    double share = 1;
    ExactOptions options;
    options.progress = [&](double done) {
        share = done;
        return false;
    };
    const SimReport report = run(scenario, options);
    EXPECT_TRUE(report.interrupted);
    EXPECT_LT(report.virtual_s, 12 * 3600);
    EXPECT_LT(share, 1.0 / kSamplesMax);
}

TEST(RunExact, IsComparedWithTheSamePeersAtTheirBestPlaces) {
    Scenario scenario = small_scenario();
    scenario.duration = 30min;
    scenario.pipeline.microbatches = 64;
    ASSERT_TRUE(run(scenario).throughput_of_optimal);
    EXPECT_NEAR(*run(scenario).throughput_of_optimal, 1, 0.1);
    scenario.groups.front().count = 8;
    // Four and four become two and four, where three and three would be best.
    for (const std::uint32_t peer : {1, 3}) {
        scenario.plan.push_back({Planned::Kind::Leave, 1s, peer});
    }
    EXPECT_NEAR(*run(scenario).throughput_of_optimal, 2.0 / 3.0, 0.1);
}

TEST(RunExact, ARunThatFailsSaysSoWithoutBlamingTheProtocol) {
    Scenario scenario = small_scenario();
    scenario.duration = 1h;
    scenario.regions.latency = {{Duration(60s)}};  // no peer's dial comes through
    const SimReport report = run(scenario);
    EXPECT_TRUE(report.violations.empty());
    ASSERT_TRUE(report.failure);
    EXPECT_NE(report.failure->find("not enough peers"), std::string::npos) << *report.failure;
}

TEST(RunExact, AnIdleCalmIsAViolationOnlyIfEachStageHasItsState) {
    Scenario scenario = small_scenario();
    scenario.duration = 2min;
    scenario.calm = 30s;
    scenario.churn.spares_last = false;
    scenario.plan.push_back({Planned::Kind::Crash, 80s, 2});
    scenario.plan.push_back({Planned::Kind::Crash, 80s, 4});
    const SimReport lost = run(scenario);
    EXPECT_TRUE(lost.violations.empty()) << lost.violations.front();
    ASSERT_TRUE(lost.failure);
    EXPECT_NE(lost.failure->find("the state of stage 1"), std::string::npos) << *lost.failure;

    scenario.plan.clear();
    scenario.pipeline.work_units = 1e12;
    const SimReport idle = run(scenario);
    EXPECT_FALSE(idle.failure);
    ASSERT_EQ(idle.violations.size(), 1U);
    EXPECT_TRUE(idle.violations[0].starts_with("I9: in the calm")) << idle.violations[0];
}

TEST(RunExact, RefusesAFleetWhoseLinksAreTooMany) {
    Scenario scenario;
    scenario.groups.front().count = 10'000;
    scenario.pipeline.stages = 16;
    const auto report = run_exact(scenario, 1);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, swarm::ErrorCode::TooLarge);
    EXPECT_NE(report.error().detail.find("5859375 here"), std::string::npos)
        << report.error().detail;
}

}  // namespace
}  // namespace sim
