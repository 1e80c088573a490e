#include "sim/fluid/fluid_run.hpp"

#include "tests/unit/sim_fluid/fluid_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace sim {
namespace {

using test::FluidFixture;
using Kind = Happening::Kind;

/// The fixture's flow at this rate of the narrowest of two stages, which take a second each.
double flow_at(double narrowest) {
    constexpr double kOtherStageS = 1;
    constexpr double kCommitS = 0.005;
    return 1'000 / (1'000 / narrowest + kOtherStageS + kCommitS);
}

SimReport run(const FluidFixture& fixture, const Progress& progress = {}) {
    return *run_fluid(fixture.scenario, fixture.schedule, 1, progress);
}

TEST(FluidRun, ReportsStepsTimesAndUtilisation) {
    FluidFixture fixture(6, 2);
    fixture.schedule.fleet[0].units_per_s = 1.5;
    const SimReport report = run(fixture);
    EXPECT_EQ(report.mode, Mode::Fluid);
    EXPECT_EQ(report.peers, 6U);
    EXPECT_EQ(report.steps, 2U);  // 2.5 microbatches per second at most, 1,000 per step
    EXPECT_DOUBLE_EQ(report.virtual_s, 1'000);
    EXPECT_GT(report.step_s->mean, 1'000 / flow_at(2.5));
    EXPECT_LT(report.step_s->mean, 1.05 * 1'000 / flow_at(2.5));
    const double flow = 1'000 / report.step_s->mean;
    const double first = flow / 2.5;
    const double second = flow / 3;
    EXPECT_NEAR(report.utilisation, (first + second) / 2, 1e-9);
    EXPECT_NEAR(report.utilisation_per_stage.at(0), first, 1e-9);
    EXPECT_NEAR(report.utilisation_per_stage.at(1), second, 1e-9);
    EXPECT_NEAR(*report.throughput_of_optimal, 1, 1e-9);
}

TEST(FluidRun, ComparesWithTheSamePeersAtTheirBestPlaces) {
    FluidFixture fixture(8, 2);
    fixture.scenario.pipeline.microbatches = 100;
    fixture.happens(500, 1, Kind::Leave);
    fixture.happens(500, 3, Kind::Leave);  // 2 and 4 for the other half, best 3 and 3
    const SimReport report = run(fixture);
    EXPECT_NEAR(*report.throughput_of_optimal, (4 + 2) / (4 + 3.0), 0.02);
}

TEST(FluidRun, EndsWithTheLastStep) {
    FluidFixture fixture;
    fixture.scenario.pipeline.steps = 1;
    const SimReport report = run(fixture);
    EXPECT_EQ(report.steps, 1U);
    EXPECT_NEAR(report.virtual_s, 1'000 / flow_at(2), 5);
}

TEST(FluidRun, LeavesWithTheWorkOfTheStep) {
    FluidFixture fixture;
    fixture.scenario.duration = std::chrono::seconds(5'000);
    fixture.scenario.pipeline.steps = 1;
    const double undisturbed_s = run(fixture).virtual_s;
    fixture.happens(undisturbed_s * 0.9, 1, Kind::Crash);
    // Half of the microbatches done and under way must be redone; and the rest flows at half the
    // rate.
    EXPECT_GT(run(fixture).virtual_s, (0.9 + 2 * (0.1 + 0.45)) * undisturbed_s);
    EXPECT_LT(run(fixture).virtual_s, (0.9 + 2 * (0.1 + 0.55)) * undisturbed_s);
}

TEST(FluidRun, RebalancesOncePerPeriod) {
    FluidFixture fixture(20, 2);
    fixture.scenario.pipeline.microbatches = 100;
    fixture.scenario.pipeline.rebalancer = "swarm-alg2";
    fixture.scenario.pipeline.rebalance_every = std::chrono::seconds(100);
    for (std::uint32_t number = 1; number <= 11; number += 2) {
        fixture.happens(150, number, Kind::Leave);  // 4 and 10 are left
    }
    const SimReport report = run(fixture);
    std::set<double> times;
    for (const Note& note : report.notes) {
        if (note.kind == NoteKind::Move) {
            times.insert(note.at_s);
        }
    }
    // One at 100 as no two queues are equal, then three of need; more again without need.
    for (const double time : {200, 300, 400}) {
        EXPECT_TRUE(times.contains(time));
    }
    EXPECT_LE(times.size(), 10U);
    EXPECT_TRUE(std::all_of(times.begin(), times.end(), [](double time) {
        return std::fmod(time, 100) == 0;
    }));
    EXPECT_NEAR(report.samples.back().peers_per_stage[0], 7, 1);
}

TEST(FluidRun, TakesSamplesEvenly) {
    FluidFixture fixture;
    fixture.scenario.pipeline.microbatches = 100;
    fixture.happens(500, 1, Kind::Leave);
    const SimReport report = run(fixture);
    ASSERT_GE(report.samples.size(), kSamplesMax - 1);
    ASSERT_LE(report.samples.size(), kSamplesMax);
    const Sample& early = report.samples[10];
    const Sample& late = report.samples[kSamplesMax - 10];
    EXPECT_EQ(early.peers_per_stage, (std::vector<std::uint32_t>{2, 2}));
    EXPECT_EQ(late.peers_per_stage, (std::vector<std::uint32_t>{1, 2}));
    EXPECT_NEAR(late.utilisation_per_stage.at(1), 1 / 2.0, 0.02);
    EXPECT_NEAR(static_cast<double>(late.steps), (500 * 2 + 450 * 1) / 100.0, 2);
}

TEST(FluidRun, ATraceHashTellsRunsApart) {
    FluidFixture fixture;
    fixture.happens(500, 1, Kind::Leave);
    const SimReport first = run(fixture);
    EXPECT_EQ(first.trace_hash, run(fixture).trace_hash);
    fixture.schedule.happenings[0].peer = 2;
    EXPECT_NE(first.trace_hash, run(fixture).trace_hash);
}

TEST(FluidRun, EndsEarlyWhenToldTo) {
    FluidFixture fixture;
    for (int i = 0; i < 100'000; ++i) {
        fixture.happens(1 + i * 0.005, 1, i % 2 == 0 ? Kind::SlowDown : Kind::SpeedBack, 0.5);
    }
    const SimReport report = run(fixture, [](double share) { return share < 0.1; });
    EXPECT_TRUE(report.interrupted);
    EXPECT_LT(report.virtual_s, 500);
    EXPECT_GT(report.virtual_s, 50);
}

TEST(FluidRun, FiguresOfOtherFidelitiesAreAbsent) {
    const SimReport report = run(FluidFixture());
    EXPECT_FALSE(report.replayed);
    EXPECT_FALSE(report.fenced);
    EXPECT_FALSE(report.lost_work_share);
}

TEST(FluidRun, NamesAPolicyThatIsNotRegistered) {
    FluidFixture fixture;
    fixture.scenario.pipeline.policy = "fastest";
    EXPECT_EQ(
        run_fluid(fixture.scenario, fixture.schedule, 1).error().detail.substr(0, 33),
        "pipeline.policy: no policy is cal"
    );
    fixture.scenario.pipeline.policy = "iwrr";
    fixture.scenario.pipeline.rebalancer = "always";
    EXPECT_EQ(
        run_fluid(fixture.scenario, fixture.schedule, 1).error().code, swarm::ErrorCode::Usage
    );
}

}  // namespace
}  // namespace sim
