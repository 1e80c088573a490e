#include "swarm/cli/sim/recorded_run.hpp"

#include "sim/scenario/scenario.hpp"

#include <gtest/gtest.h>

namespace swarm::cli {
namespace {

constexpr const char* kRun = R"({
  "config": {"model": "oracle", "stages": 2, "microbatches": 24, "in_flight": 8, "min_peers": 3,
             "seed": 5, "policy": "iwrr", "codec": "none", "activation_bytes": 0},
  "steps": [{"step": 0, "seconds": 2.5}, {"step": 1, "seconds": 1.5}, {"step": 2, "seconds": 4}],
  "peers": [{"id": "aaaaaaaaaa", "admitted": 2, "first_stage": 0, "service_ms": 100},
            {"id": "bbbbbbbbbb", "admitted": 1, "first_stage": 0, "service_ms": 50},
            {"id": "cccccccccc", "admitted": 3, "first_stage": 1, "service_ms": 50},
            {"id": "dddddddddd", "admitted": null, "first_stage": null, "service_ms": 50}],
  "events": [{"kind": "kill", "peer": "aaaaaaaaaa", "t_s": 1.25},
             {"kind": "fence", "peer": "aaaaaaaaaa", "t_s": 3.25},
             {"kind": "freeze", "peer": "bbbbbbbbbb", "t_s": 4, "length_s": 1.5},
             {"kind": "kill", "peer": "bbbbbbbbbb", "t_s": 8.5}]})";

std::string changed(const std::string& from, const std::string& to) {
    std::string text = kRun;
    text.replace(text.find(from), from.size(), to);
    return text;
}

sim::Scenario recorded() {
    const Result<std::string> toml = scenario_of_run(kRun, "run.json");
    EXPECT_TRUE(toml) << toml.error().detail;
    const auto scenario = sim::parse_scenario(*toml, "run.toml");
    EXPECT_TRUE(scenario) << scenario.error().detail << "\n" << *toml;
    return *scenario;
}

TEST(RecordedRun, KeepsThePipeline) {
    const sim::Scenario scenario = recorded();
    EXPECT_EQ(scenario.mode, sim::Mode::Exact);
    EXPECT_EQ(scenario.seed, 5U);
    EXPECT_EQ(scenario.pipeline.stages, 2U);
    EXPECT_EQ(scenario.pipeline.microbatches, 24U);
    EXPECT_EQ(scenario.pipeline.in_flight, 8U);
    EXPECT_EQ(scenario.pipeline.min_peers, 3U);
    EXPECT_GT(scenario.pipeline.arrival_gap.count(), 0) << "each peer gets its stage again";
    EXPECT_EQ(scenario.pipeline.steps, 3U);
    EXPECT_EQ(scenario.pipeline.policy, "iwrr");
    EXPECT_EQ(scenario.pipeline.work_units, 1.0);
    EXPECT_EQ(scenario.duration, std::chrono::seconds(26)) << "2 x 8 s and 10 s";
}

TEST(RecordedRun, KeepsWhatReplicasExchange) {
    EXPECT_EQ(recorded().pipeline.state_bytes, 0U) << "an earlier version does not say";
    const std::string text = changed(
        R"("activation_bytes": 0})",
        R"("activation_bytes": 0, "state_bytes": 7517952, "mode": "sparse", "sync_every": 4})"
    );
    const Result<std::string> toml = scenario_of_run(text, "run.json");
    ASSERT_TRUE(toml) << toml.error().detail;
    const auto scenario = sim::parse_scenario(*toml, "run.toml");
    ASSERT_TRUE(scenario) << scenario.error().detail << "\n" << *toml;
    EXPECT_EQ(scenario->pipeline.state_bytes, 7'517'952U);
    EXPECT_TRUE(scenario->pipeline.is_sparse());
    EXPECT_EQ(scenario->pipeline.sync_every, 4U);
}

/// Peers come one by one, each to the stage with the fewest members: bbbb to stage 0, cccc to stage
/// 1, aaaa to stage 0. A peer without a stage never worked.
TEST(RecordedRun, PeersComeInAnOrderThatGivesThemTheirStages) {
    const sim::Scenario scenario = recorded();
    ASSERT_EQ(scenario.groups.size(), 2U);
    EXPECT_EQ(scenario.groups[0].count, 2U);
    EXPECT_EQ(scenario.groups[0].units_per_s.values, std::vector<double>{20.0});
    EXPECT_EQ(scenario.groups[1].count, 1U);
    EXPECT_EQ(scenario.groups[1].units_per_s.values, std::vector<double>{10.0});
}

TEST(RecordedRun, KeepsTheLines) {
    std::string text = changed(
        R"("first_stage": 1, "service_ms": 50})",
        R"("first_stage": 1, "service_ms": 50, "line_bytes_per_s": 1250000})"
    );
    text.replace(text.find("\"steps\""), 0, "\"line_delay_s\": 0.02, ");
    const Result<std::string> toml = scenario_of_run(text, "run.json");
    ASSERT_TRUE(toml) << toml.error().detail;
    const auto scenario = sim::parse_scenario(*toml, "run.toml");
    ASSERT_TRUE(scenario) << scenario.error().detail << "\n" << *toml;
    ASSERT_EQ(scenario->groups.size(), 3U) << "of one speed, but with another line";
    EXPECT_EQ(scenario->groups[1].up_bytes_per_s.values, std::vector<double>{1.25e6});
    EXPECT_EQ(scenario->groups[1].down_bytes_per_s.values, std::vector<double>{1.25e6});
    EXPECT_NE(toml->find("latency = \"20100us\""), std::string::npos) << *toml;
}

TEST(RecordedRun, RefusesABadDelay) {
    for (const char* bad : {"-1", "1e300", "\"long\""}) {
        std::string text = kRun;
        text.replace(text.find("\"steps\""), 0, std::string("\"line_delay_s\": ") + bad + ", ");
        EXPECT_FALSE(scenario_of_run(text, "run.json")) << bad;
    }
}

TEST(RecordedRun, NamesTheRealPeerOfEachSimulatedOne) {
    const Result<std::string> toml = scenario_of_run(kRun, "run.json");
    EXPECT_NE(
        toml->find("# Peer 1 was bbbbbbbbbb.\n# Peer 2 was cccccccccc.\n# Peer 3 was aaaaaaaaaa.\n"
        ),
        std::string::npos
    ) << *toml;
}

TEST(RecordedRun, FaultsHitTheSamePeersAtTheSameTimes) {
    using Kind = sim::Planned::Kind;
    const sim::Scenario scenario = recorded();
    ASSERT_EQ(scenario.plan.size(), 3U) << "the last kill came after the last step";
    const auto find = [&](Kind kind) {
        for (const sim::Planned& planned : scenario.plan) {
            if (planned.kind == kind) {
                return planned;
            }
        }
        return sim::Planned{};
    };
    EXPECT_EQ(find(Kind::Crash).peer, 3U);
    EXPECT_EQ(find(Kind::Crash).at, std::chrono::milliseconds(1250));
    EXPECT_EQ(find(Kind::Join).peer, 3U);
    EXPECT_EQ(find(Kind::Join).at, std::chrono::milliseconds(3250));
    EXPECT_EQ(find(Kind::Freeze).peer, 1U);
    EXPECT_EQ(find(Kind::Freeze).length, std::chrono::milliseconds(1500));
}

TEST(RecordedRun, FaultsComeAtTheSamePlacesOfSimulatedSteps) {
    // The real steps end at 2.5, 4 and 8 s, their median is 2.5 s. Simulated steps take 2, 2.5 and
    // 5 s, so the pace is the same.
    const SimulatedSteps steps{0.5, {2.5, 5, 10}};
    const Result<std::string> toml = scenario_of_run(kRun, "run.json", steps);
    ASSERT_TRUE(toml) << toml.error().detail;
    const auto scenario = sim::parse_scenario(*toml, "run.toml");
    ASSERT_TRUE(scenario) << scenario.error().detail;
    ASSERT_EQ(scenario->plan.size(), 3U);
    EXPECT_EQ(scenario->plan[0].at, std::chrono::milliseconds(1750)) << "in the first step";
    EXPECT_EQ(scenario->plan[1].at, std::chrono::milliseconds(3750)) << "it comes back 2 s later";
    EXPECT_EQ(scenario->plan[2].at, std::chrono::milliseconds(5000)) << "when the third begins";
}

TEST(RecordedRun, AFaultLateInALongStepComesWithinTheSimulatedOne) {
    const SimulatedSteps steps{0, {1, 2, 3}};
    const Result<std::string> toml = scenario_of_run(changed("1.25", "2.49"), "run.json", steps);
    ASSERT_TRUE(toml) << toml.error().detail;
    EXPECT_NE(toml->find("at = \"996ms\"\nkind = \"crash\""), std::string::npos) << *toml;
    const SimulatedSteps first_is_short{0, {0.5, 2, 3}};
    const auto cut = scenario_of_run(changed("1.25", "2.49"), "run.json", first_is_short);
    ASSERT_TRUE(cut) << cut.error().detail;
    EXPECT_NE(cut->find("at = \"500ms\"\nkind = \"crash\""), std::string::npos) << *cut;
}

TEST(RecordedRun, TooFewSimulatedStepsLeaveTheRealTimes) {
    EXPECT_EQ(*scenario_of_run(kRun, "run.json", {0, {1, 2}}), *scenario_of_run(kRun, "run.json"));
}

void expect_refused(const std::string& json, const std::string& why) {
    const Result<std::string> toml = scenario_of_run(json, "run.json");
    ASSERT_FALSE(toml) << *toml;
    EXPECT_EQ(toml.error().reaction, Reaction::Reject);
    EXPECT_NE(toml.error().detail.find(why), std::string::npos) << toml.error().detail;
    EXPECT_EQ(toml.error().detail.find('\n'), std::string::npos) << toml.error().detail;
    EXPECT_EQ(toml.error().detail.find("run.json: "), 0U) << toml.error().detail;
}

TEST(RecordedRun, RefusesStepsThatTookNoTime) {
    for (const char* seconds : {"0", "-1.5", "1e999"}) {
        expect_refused(changed("\"seconds\": 1.5", "\"seconds\": " + std::string(seconds)), "");
    }
}

TEST(RecordedRun, RefusesTextThatIsNoReport) {
    expect_refused("", "not a report");
    expect_refused("[]", "not a report");
    expect_refused("{\"losses\": []}", "not a report");
    expect_refused(std::string(kRun).substr(0, 300), "not a report");
    expect_refused(changed("\"microbatches\": 24", "\"microbatches\": -24"), "not a report");
}

/// The report of a run without --service-ms: speeds are those that senders measured.
std::string real_run() {
    std::string text = kRun;
    const auto put = [&](const std::string& from, const std::string& to) {
        text.replace(text.find(from), from.size(), to);
    };
    put(R"("service_ms": 100})", R"("service_ms": null, "forwards_per_s": 3.14159})");
    put(R"("service_ms": 50})", R"("service_ms": null, "forwards_per_s": 8})");
    put(R"("service_ms": 50})", R"("service_ms": null, "forwards_per_s": null})");
    return text;
}

TEST(RecordedRun, ARealRunHasTheSpeedsThatSendersMeasured) {
    const Result<std::string> toml = scenario_of_run(real_run(), "run.json");
    ASSERT_TRUE(toml) << toml.error().detail;
    const auto scenario = sim::parse_scenario(*toml, "run.toml");
    ASSERT_TRUE(scenario) << scenario.error().detail << "\n" << *toml;
    // In the order of their stages: bbbb with 8, cccc of stage 1 with the median of 3.142 and 8,
    // because nobody measured it or its stage, and aaaa.
    ASSERT_EQ(scenario->groups.size(), 2U);
    EXPECT_EQ(scenario->groups[0].count, 2U);
    EXPECT_EQ(scenario->groups[0].units_per_s.values, std::vector<double>{8.0});
    EXPECT_EQ(scenario->groups[1].units_per_s.values, std::vector<double>{3.142});
    EXPECT_NE(toml->find("bbbbbbbbbb, as fast as its senders measured it."), std::string::npos);
    EXPECT_NE(toml->find("cccccccccc, which nobody measured: as fast as"), std::string::npos);
}

TEST(RecordedRun, RefusesARunInWhichNobodyWasMeasured) {
    std::string text = kRun;
    for (const std::string key : {"\"service_ms\": 100", "\"service_ms\": 50"}) {
        for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key)) {
            text.replace(at, key.size(), "\"service_ms\": null");
        }
    }
    expect_refused(text, "nobody measured the speed");
    expect_refused(changed("\"service_ms\": 100", "\"forwards_per_s\": -1"), "not a report");
}

TEST(RecordedRun, RefusesEventsThatNoScenarioRepeats) {
    expect_refused(changed("\"fence\"", "\"drain\""), "it has a drain");
}

TEST(RecordedRun, RefusesARunWithoutAStep) {
    expect_refused(
        changed(
            "[{\"step\": 0, \"seconds\": 2.5}, {\"step\": 1, \"seconds\": 1.5}, "
            "{\"step\": 2, \"seconds\": 4}]",
            "[]"
        ),
        "no step"
    );
}

TEST(RecordedRun, RefusesAFaultOfAnUnknownPeer) {
    expect_refused(changed("\"peer\": \"aaaaaaaaaa\"", "\"peer\": \"eeee\""), "not listed");
}

TEST(RecordedRun, AFileNameCannotLeaveTheComment) {
    const Result<std::string> toml = scenario_of_run(kRun, "run\nmode = 3\n.json");
    ASSERT_TRUE(toml);
    EXPECT_TRUE(sim::parse_scenario(*toml, "x")) << *toml;
}

}  // namespace
}  // namespace swarm::cli
