#include "sim/run/scenario_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
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

/// Tells whether peers with odd numbers got stage 0 and the others stage 1.
bool took_turns(const Scenario& scenario, std::uint64_t seed) {
    const SimReport report = *run_exact(scenario, seed);
    EXPECT_EQ(report.shares.size(), 4U);
    return std::ranges::all_of(report.shares, [](const PeerShare& share) {
        return share.stage == (share.peer + 1) % 2;
    });
}

/// A recorded run is repeated only if each peer gets its stage again.
TEST(RunExact, PeersThatComeInOrderGetTheirStagesByIt) {
    Scenario scenario = small_scenario();
    scenario.pipeline.min_peers = 4;
    scenario.pipeline.steps = 2;
    scenario.regions.jitter = 0.1;
    int without = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        scenario.pipeline.arrival_gap = {};
        without += took_turns(scenario, seed) ? 1 : 0;
        scenario.pipeline.arrival_gap = 50ms;
        EXPECT_TRUE(took_turns(scenario, seed)) << "seed " << seed;
    }
    EXPECT_LT(without, 10) << "the order in which frames come decides then";
}

/// Two replicas of a stage of 100,000 parameters, on lines of 100 kB/s.
Scenario on_lines(swarm::run::SyncMode mode) {
    Scenario scenario = small_scenario();
    scenario.duration = 10min;
    scenario.pipeline.steps = 17;
    scenario.pipeline.min_peers = 4;
    scenario.pipeline.state_bytes = 1'200'000;
    scenario.pipeline.mode = mode;
    scenario.groups.front().up_bytes_per_s = {Draw::Kind::Constant, {1e5}};
    scenario.groups.front().down_bytes_per_s = {Draw::Kind::Constant, {1e5}};
    return scenario;
}

double mean_step_s(const Scenario& scenario) {
    const SimReport report = run(scenario);
    EXPECT_EQ(report.violations, std::vector<std::string>{});
    EXPECT_EQ(report.steps, 17U);
    return report.step_s->mean;
}

TEST(RunExact, AReductionTakesTheTimeOfTheLines) {
    Scenario scenario = on_lines(swarm::run::SyncMode::Exact);
    const double with = mean_step_s(scenario);
    scenario.pipeline.state_bytes = 0;
    // Each sends 3.3 + 4 bytes for half of the parameters.
    EXPECT_NEAR(with - mean_step_s(scenario), 7.3 * 50'000 / 1e5, 0.1);
}

TEST(RunExact, AnExchangeOfModeSparseIsShort) {
    Scenario scenario = on_lines(swarm::run::SyncMode::Sparse);
    const double with = mean_step_s(scenario);
    scenario.pipeline.state_bytes = 0;
    EXPECT_NEAR(with - mean_step_s(scenario), 3 * 116 * 100'000 / 4096.0 / 1e5 / 17, 0.01);
}

/// A part of 25 million sums takes longer than the 10 s after which a small stage's members are
/// fenced.
TEST(RunExact, ALongReductionFencesNobody) {
    Scenario scenario = on_lines(swarm::run::SyncMode::Exact);
    scenario.pipeline.state_bytes = 600'000'000;
    scenario.groups.front().up_bytes_per_s = {Draw::Kind::Constant, {12.5e6}};
    scenario.groups.front().down_bytes_per_s = {Draw::Kind::Constant, {12.5e6}};
    scenario.groups.front().count = 8;
    scenario.pipeline.min_peers = 8;
    scenario.pipeline.steps = 2;
    const SimReport report = run(scenario);
    EXPECT_EQ(report.fenced, 0U);
    const double on_the_line_s = 7.3 * 37.5e6 / 12.5e6;
    EXPECT_GT(report.step_s->mean, on_the_line_s);
    EXPECT_LT(report.step_s->mean, 1.5 * on_the_line_s) << "pieces wait behind each other";
}

TEST(RunExact, ANewcomerDownloadsFromSeveralDonors) {
    Scenario scenario = on_lines(swarm::run::SyncMode::Exact);
    scenario.pipeline.steps = 0;
    scenario.pipeline.stages = 1;
    scenario.pipeline.state_bytes = 24'000'000;
    scenario.groups.front().down_bytes_per_s = {Draw::Kind::Constant, {0}};
    scenario.groups.front().up_bytes_per_s = {Draw::Kind::Constant, {1e6}};
    crash(scenario, 4, 10s, 20s);
    std::set<std::uint64_t> donors;
    ExactOptions options;
    options.on_event = [&](RunWorld&, PeerId at, const node::Event& event) {
        const auto* const received = std::get_if<node::Received>(&event);
        if (received && at == peer(4) &&
            std::holds_alternative<swarm::protocol::Chunk>(received->message.body)) {
            donors.insert(received->peer.words[0]);
        }
    };
    const SimReport report = run(scenario, options);
    EXPECT_EQ(report.violations, std::vector<std::string>{});
    EXPECT_EQ(donors, (std::set<std::uint64_t>{1, 2, 3}));
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
