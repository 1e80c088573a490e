#include "swarm/cli/common/run_report.hpp"

#include "swarm/net/identity.hpp"
#include "swarm/run/partition.hpp"
#include "tests/unit/cli/runs/two_peers.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include <cmath>

namespace swarm::cli {
namespace {

namespace json = boost::json;
using std::chrono::seconds;
using test::kAnna;
using test::kBert;

TimePoint at(int second) {
    return TimePoint(seconds(second));
}

run::RunConfig small_run() {
    run::RunConfig config;
    config.microbatches = 4;
    config.batch = 2;
    config.model.context = 10;
    return config;
}

node::StepCommitted step(std::uint64_t number, double loss) {
    return {number, loss, 1.0, seconds(2), 4, 4, 1, 0};
}

json::object parsed(const RunReport& report) {
    return json::parse(report.to_json()).as_object();
}

TEST(RunReport, WritesNullForUnknownFigures) {
    const json::object report = parsed(RunReport(small_run()));
    EXPECT_TRUE(report.at("weights_sha256").is_null());
    EXPECT_TRUE(report.at("verify").is_null());
    EXPECT_TRUE(report.at("tokens_per_s").is_null());
    EXPECT_TRUE(report.at("wire_bytes_per_microbatch").is_null());
    EXPECT_TRUE(report.at("losses").as_array().empty());
    EXPECT_EQ(report.at("kills").to_number<int>(), 0);
}

TEST(RunReport, TellsOfASkippedStepWithItsReason) {
    RunReport report(small_run());
    report.add(step(0, 3.5), at(12));
    report.add(node::StepSkipped{1, "microbatch 2 is not finite in stage 0", seconds(1)}, at(13));
    const json::object whole = parsed(report);
    EXPECT_EQ(whole.at("steps").as_array().size(), 1U);
    EXPECT_EQ(whole.at("losses").as_array().size(), 1U);
    EXPECT_EQ(whole.at("skips").to_number<int>(), 1);
    const json::object& event = whole.at("events").at(0).as_object();
    EXPECT_EQ(event.at("kind").as_string(), "skip");
    EXPECT_EQ(event.at("reason").as_string(), "step 1: microbatch 2 is not finite in stage 0");
    EXPECT_EQ(event.at("t_s").to_number<double>(), 3);
    EXPECT_NE(report.trouble().find("1 steps skipped"), std::string::npos) << report.trouble();
}

TEST(RunReport, TellsOnceThatTheLossDiverges) {
    RunReport report(small_run());
    report.add(PastLoss{0, 3.0}, at(10));
    for (std::uint64_t number = 1; number < 80; ++number) {
        report.add(step(number, number < 40 ? 3.0 : 4.0), at(12));
    }
    const json::object whole = parsed(report);
    ASSERT_EQ(whole.at("events").as_array().size(), 1U);
    const json::object& event = whole.at("events").at(0).as_object();
    EXPECT_EQ(event.at("kind").as_string(), "diverge");
    EXPECT_EQ(
        event.at("reason").as_string(),
        "step 46: the mean loss of the last 20 steps is 3.3500, the least was 3.0000"
    );
    EXPECT_TRUE(event.at("peer").is_null());
}

TEST(RunReport, TellsOfTheShareOfALostReplica) {
    RunReport report(small_run());
    report.add(step(0, 3.5), at(12));
    report.add(node::ShareLost{kAnna, {1}, 7}, at(13));
    report.add(node::ShareLost{kBert, {0}, 4}, at(14));
    const json::object event = parsed(report).at("events").at(0).as_object();
    EXPECT_EQ(event.at("kind").as_string(), "share_lost");
    EXPECT_EQ(event.at("peer").as_string(), net::to_text(kAnna));
    EXPECT_EQ(event.at("stage").to_number<int>(), 1);
    EXPECT_EQ(event.at("reason").as_string(), "7 microbatches since the last exchange");
    EXPECT_NE(report.trouble().find("11 microbatches lost before"), std::string::npos)
        << report.trouble();
}

TEST(RunReport, HoldsTheFiguresThatRepeatTheRun) {
    RunReport report(small_run());
    report.add_peer(kBert, {.service_ms = 20, .line_bytes_per_s = 1'250'000});
    report.set_line_delay(std::chrono::milliseconds(20));
    report.add_peer(kAnna, {.service_ms = 40});
    report.events().kill(kAnna, at(5));
    report.add(step(0, 3.5), at(12));  // the run began at 10
    report.events().freeze(kBert, at(14), seconds(3));
    const json::object whole = parsed(report);
    EXPECT_EQ(whole.at("config").at("microbatches").to_number<int>(), 4);
    EXPECT_EQ(whole.at("config").at("activation_bytes").to_number<int>(), 4 * 2 * 10 * 128);
    EXPECT_EQ(whole.at("peers").at(0).at("number").to_number<int>(), 2) << "by id, not by start";
    EXPECT_EQ(whole.at("line_delay_s").as_double(), 0.02);
    EXPECT_EQ(whole.at("peers").at(0).at("service_ms").to_number<int>(), 40);
    EXPECT_TRUE(whole.at("peers").at(0).at("line_bytes_per_s").is_null());
    EXPECT_EQ(whole.at("peers").at(1).at("line_bytes_per_s").to_number<int>(), 1'250'000);
    const json::array& events = whole.at("events").as_array();
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[0].at("kind").as_string(), "kill");
    EXPECT_EQ(events[0].at("t_s").as_double(), 0) << "before the first step";
    EXPECT_EQ(events[0].at("cost_s").as_double(), 7);
    EXPECT_EQ(events[1].at("t_s").as_double(), 4);
    EXPECT_EQ(events[1].at("length_s").as_double(), 3);
    EXPECT_TRUE(events[1].at("cost_s").is_null());
}

TEST(RunReport, ListsStepsAndSpeed) {
    RunReport report(small_run());
    report.add(step(0, 3.5), at(1));
    report.add(step(1, 2.5), at(2));
    const json::object whole = parsed(report);
    EXPECT_EQ(whole.at("losses").as_array().at(1).as_double(), 2.5);
    const json::object& second = whole.at("steps").as_array().at(1).as_object();
    EXPECT_EQ(second.at("step").to_number<int>(), 1);
    EXPECT_EQ(second.at("tokens").to_number<int>(), 80);
    EXPECT_EQ(second.at("seconds").as_double(), 2.0);
    EXPECT_EQ(second.at("expected").to_number<int>(), 4);
    EXPECT_EQ(second.at("counted").to_number<int>(), 4);
    EXPECT_EQ(second.at("replayed").to_number<int>(), 1);
    EXPECT_EQ(whole.at("tokens_per_s").as_double(), 40.0);
    EXPECT_TRUE(report.counted_all());
}

TEST(RunReport, DividesTheBytesByTheMicrobatchesOfTheStepsThatKnowThem) {
    RunReport report(small_run());
    node::StepCommitted first = step(0, 3.5);
    first.wire_bytes = 1000;
    node::StepCommitted second = step(1, 2.5);
    second.wire_bytes = 3000;
    report.add(first, at(1));
    report.add(second, at(2));
    report.add(step(2, 2.0), at(3));
    EXPECT_EQ(parsed(report).at("wire_bytes_per_microbatch").as_double(), 500.0);
}

TEST(RunReport, NoticesAStepThatCountsLess) {
    RunReport report(small_run());
    node::StepCommitted lossy = step(0, 1);
    lossy.counted = 3;
    report.add(lossy, at(1));
    EXPECT_FALSE(report.counted_all());
}

TEST(RunReport, SharesBelongToTheStage) {
    RunReport report(small_run());
    report.add_peer(kAnna, {.service_ms = 40});
    report.add(node::WorkCounted{0, kAnna, {1}, 3}, at(1));
    report.add(node::WorkCounted{0, kBert, {1}, 1}, at(1));
    const json::array peers = parsed(report).at("peers").as_array();
    ASSERT_EQ(peers.size(), 2U);
    EXPECT_EQ(peers.at(0).at("share").as_double(), 0.75);
    EXPECT_EQ(peers.at(0).at("service_ms").to_number<int>(), 40);
    EXPECT_EQ(peers.at(0).at("stage").to_number<int>(), 1);
    EXPECT_EQ(peers.at(1).at("microbatches").to_number<int>(), 1);
    EXPECT_TRUE(peers.at(1).at("service_ms").is_null());
}

TEST(RunReport, SetsSharesBesideMeasuredSpeeds) {
    RunReport report(small_run());
    report.add(node::WorkCounted{0, kAnna, {1}, 3, 0}, at(1));
    report.add(node::WorkCounted{0, kBert, {1}, 1, 100}, at(1));
    EXPECT_TRUE(parsed(report).at("peers").at(0).at("speed_share").is_null());
    report.add(node::WorkCounted{1, kAnna, {1}, 3, 300}, at(2));
    report.add(node::WorkCounted{1, kBert, {1}, 1, 0}, at(2));  // the former measurement stays
    const json::value peers = parsed(report).at("peers");
    EXPECT_EQ(peers.at(0).at("speed_share").as_double(), 0.75);
    EXPECT_EQ(peers.at(1).at("speed_share").as_double(), 0.25);
    const run::RunConfig config = small_run();
    const double units =
        double{1} * config.batch * config.model.context * run::partition(config)[1].layers;
    EXPECT_DOUBLE_EQ(peers.at(0).at("forwards_per_s").as_double(), 300 / units);
    EXPECT_DOUBLE_EQ(peers.at(1).at("forwards_per_s").as_double(), 100 / units);
    report.add(
        node::WorkCounted{2, kAnna, {0}, 3, 0}, at(3)
    );  // it is not measured in the new stage yet
    EXPECT_TRUE(parsed(report).at("peers").at(0).at("speed_share").is_null());
    EXPECT_EQ(parsed(report).at("peers").at(1).at("speed_share").as_double(), 1);
}

TEST(RunReport, TellsTheTroubleInOneLine) {
    RunReport report(small_run());
    node::StepCommitted first = step(0, 3);
    first.replayed = 0;
    report.add(first, at(1));
    EXPECT_EQ(report.trouble(), "");
    report.events().kill(kAnna, at(2));
    node::StepCommitted second = step(1, 2);
    second.replayed = 4;
    second.fenced = 1;
    report.add(second, at(3));
    EXPECT_EQ(
        report.trouble(),
        "1 killed, 0 joined later; 1 fenced, 4 microbatches replayed, each counted once"
    );
}

TEST(RunReport, MeasuresFromAFaultToTheNextCommit) {
    RunReport report(small_run());
    report.add(step(0, 3), at(1));
    report.events().kill(kAnna, at(2));
    report.events().freeze(kBert, at(4), seconds(1));
    report.add(step(1, 2), at(7));
    report.events().kill_coordinator(at(8));
    report.add(step(2, 1), at(9));
    report.add_peer(kAnna, {.service_ms = 40});
    const json::object whole = parsed(report);
    const json::array& recoveries = whole.at("recovery_s").as_array();
    ASSERT_EQ(recoveries.size(), 3U);
    EXPECT_EQ(recoveries.at(0).as_double(), 5.0);
    EXPECT_EQ(recoveries.at(1).as_double(), 3.0);
    EXPECT_EQ(whole.at("recovery_alone_s").as_array(), json::array{1.0});
    EXPECT_EQ(whole.at("kills").to_number<int>(), 1);
    EXPECT_EQ(whole.at("freezes").to_number<int>(), 1);
    EXPECT_EQ(whole.at("peers").as_array().at(0).at("kills").to_number<int>(), 1);
}

TEST(RunReport, KnowsTheLossesOfEarlierProcesses) {
    RunReport report(small_run());
    report.add(PastLoss{0, 3.25}, at(1));
    report.add(step(1, 2), at(3));
    EXPECT_EQ(report.losses(), (Losses{{0, 3.25}, {1, 2}}));
}

TEST(RunReport, TellsTheOrderInWhichPeersCameToStages) {
    RunReport report(small_run());
    report.add_peer(kAnna, {.service_ms = 20});
    report.add(node::PeerChanged{kBert, {1}, node::PeerChange::Admitted, "", {0, 1}}, at(1));
    report.add(node::PeerChanged{kBert, {0}, node::PeerChange::Admitted, "", {1, 0}}, at(2));
    const json::array peers = parsed(report).at("peers").as_array();
    EXPECT_TRUE(peers.at(0).at("admitted").is_null());
    EXPECT_TRUE(peers.at(0).at("first_stage").is_null());
    EXPECT_EQ(peers.at(1).at("admitted").to_number<int>(), 1);
    EXPECT_EQ(peers.at(1).at("first_stage").to_number<int>(), 1);
    EXPECT_EQ(peers.at(1).at("stage").to_number<int>(), 0);
}

TEST(RunReport, ALossThatIsNoNumberIsNull) {
    RunReport report(small_run());
    report.add(step(0, std::nan("")), at(1));
    EXPECT_TRUE(parsed(report).at("losses").as_array().at(0).is_null());
}

TEST(CompareRuns, EqualMeansEveryBit) {
    const Losses losses{{0, 0.1}, {1, 0.2}};
    Digest weights;
    EXPECT_TRUE(compare_runs(losses, weights, losses, weights).equal);
    Losses other = losses;
    other[1] = std::nextafter(0.2, 1.0);
    const Verification verification = compare_runs(losses, weights, other, weights);
    EXPECT_FALSE(verification.equal);
    EXPECT_NE(verification.first_difference->find("step 1"), std::string::npos);
}

TEST(CompareRuns, AMissingStepOrHashIsADifference) {
    const Losses losses{{0, 0.1}, {1, 0.2}};
    const Digest weights;
    Digest other_weights;
    other_weights.bytes[3] = std::byte{1};
    EXPECT_FALSE(compare_runs(losses, weights, {{0, 0.1}}, weights).equal);
    EXPECT_FALSE(compare_runs({{0, 0.1}}, weights, losses, weights).equal);
    EXPECT_FALSE(compare_runs(losses, weights, losses, other_weights).equal);
    EXPECT_FALSE(compare_runs(losses, std::nullopt, losses, std::nullopt).equal);
}

}  // namespace
}  // namespace swarm::cli
