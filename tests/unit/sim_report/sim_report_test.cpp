#include "sim/report/sim_report.hpp"

#include "example_report.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <sstream>

namespace sim {
namespace {

namespace json = boost::json;

json::object parsed(const SimReport& report) {
    return json::parse(to_json(report)).as_object();
}

std::size_t lines(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

bool says(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST(StepTimes, OfNoStepsAreZero) {
    EXPECT_EQ(step_times({}).mean, 0);
    EXPECT_EQ(step_times({}).p99, 0);
}

TEST(StepTimes, EqualTheOnlyStepOfARun) {
    const StepTimes times = step_times({3});
    EXPECT_EQ(times.mean, 3);
    EXPECT_EQ(times.p50, 3);
    EXPECT_EQ(times.p99, 3);
}

TEST(StepTimes, PercentilesAreOfTheSortedTimes) {
    std::vector<double> seconds;
    for (int i = 200; i >= 1; --i) {
        seconds.push_back(i);
    }
    const StepTimes times = step_times(seconds);
    EXPECT_DOUBLE_EQ(times.mean, 100.5);
    EXPECT_EQ(times.p50, 100);
    EXPECT_EQ(times.p99, 198);
}

TEST(SimReportJson, HasExactlyTheAgreedKeys) {
    std::set<std::string> keys;
    for (const auto& member : parsed(example_report())) {
        keys.emplace(member.key());
    }
    const std::set<std::string> agreed{
        "mode",      "seed",       "events",       "events_per_s",
        "virtual_s", "steps",      "step_s",       "utilisation",
        "moves",     "replayed",   "fenced",       "utilisation_per_stage",
        "bytes",     "violations", "trace_hash",   "throughput_of_optimal",
        "scenario",  "peers",      "stages",       "lost_work_share",
        "policy",    "rebalancer", "samples",      "interrupted",
        "notes",     "shares",     "step_seconds", "failure"};
    EXPECT_EQ(keys, agreed);
}

TEST(SimReportJson, KeepsTheFigures) {
    const json::object report = parsed(example_report());
    EXPECT_EQ(report.at("mode").as_string(), "exact");
    EXPECT_EQ(report.at("seed").to_number<int>(), 7);
    EXPECT_EQ(report.at("events_per_s").to_number<double>(), 2.5e6);
    EXPECT_DOUBLE_EQ(report.at("step_s").at("mean").as_double(), 4135.0 / 180);
    EXPECT_EQ(report.at("step_s").at("p50").as_double(), 23);
    EXPECT_EQ(report.at("step_seconds").as_array().size(), 180U);
    const json::value& share = report.at("shares").as_array().at(1);
    EXPECT_EQ(share.at("peer").to_number<int>(), 5);
    EXPECT_EQ(share.at("stage").to_number<int>(), 2);
    EXPECT_EQ(share.at("microbatches").to_number<int>(), 96);
    EXPECT_EQ(share.at("share").as_double(), 0.75);
    EXPECT_EQ(report.at("step_s").at("p99").as_double(), 26);
    EXPECT_EQ(report.at("utilisation_per_stage").as_array().size(), 3U);
    EXPECT_EQ(report.at("lost_work_share").as_double(), 0.0123);
    EXPECT_EQ(report.at("violations").as_array().size(), 0U);
    EXPECT_EQ(report.at("trace_hash").as_string(), "0123456789abcdef");
    EXPECT_EQ(report.at("samples").as_array().at(30).at("peers_per_stage").as_array().at(1), 3);
    EXPECT_EQ(report.at("notes").as_array().at(0).at("kind").as_string(), "crash");
}

TEST(SimReportJson, SaysNullForFiguresThatTheModeDoesNotHave) {
    SimReport report = fluid_example_report();
    report.step_s.reset();
    report.throughput_of_optimal.reset();
    report.lost_work_share.reset();
    const json::object whole = parsed(report);
    for (const char* key :
         {"step_s",
          "step_seconds",
          "shares",
          "replayed",
          "fenced",
          "throughput_of_optimal",
          "lost_work_share"}) {
        EXPECT_TRUE(whole.at(key).is_null()) << key;
    }
    EXPECT_EQ(whole.at("mode").as_string(), "fluid");
}

TEST(SimReportJson, SaysWhyARunFailed) {
    SimReport report = example_report();
    EXPECT_TRUE(parsed(report).at("failure").is_null());
    report.failure = "not enough peers";
    EXPECT_EQ(parsed(report).at("failure").as_string(), "not enough peers");
    EXPECT_TRUE(says(to_text(report), "failed        not enough peers"));
    EXPECT_TRUE(says(to_table({report, example_report()}), "0, failed"));
}

TEST(SimReportJson, IsJsonWhateverTheFiguresAre) {
    SimReport report = example_report();
    report.utilisation = std::numeric_limits<double>::quiet_NaN();
    report.samples[0].utilisation_per_stage[0] = std::numeric_limits<double>::infinity();
    report.notes[0].text = "a \"quoted\"\nline";
    const json::object whole = parsed(report);
    EXPECT_TRUE(whole.at("utilisation").is_null());
    EXPECT_EQ(whole.at("notes").as_array().at(0).at("text").as_string(), "a \"quoted\"\nline");
}

TEST(SimReportText, IsADozenLines) {
    const std::string text = to_text(example_report());
    EXPECT_GE(lines(text), 10U);
    EXPECT_LE(lines(text), 14U) << text;
}

TEST(SimReportText, SaysTheQuestionTheModeAndTheFigures) {
    const std::string text = to_text(example_report());
    EXPECT_TRUE(says(text, "How much of lent machines")) << text;
    EXPECT_TRUE(says(text, "exact: the production roles, every message")) << text;
    EXPECT_TRUE(says(text, "seed 7")) << text;
    EXPECT_TRUE(says(text, "1 h 00 min of virtual time in 2 s")) << text;
    EXPECT_TRUE(says(text, "99th percentile 26 s")) << text;
    EXPECT_TRUE(says(text, "81.2 % busy; per stage 75.0 % 80.0 % 90.0 %")) << text;
    EXPECT_TRUE(says(text, "1.2 %; replayed 31, fenced 4")) << text;
    EXPECT_TRUE(says(text, "12.3 GB")) << text;
    EXPECT_TRUE(says(text, "none")) << text;
    EXPECT_FALSE(says(text, "INTERRUPTED")) << text;
}

TEST(SimReportText, FluidDoesNotClaimToHaveCheckedMessages) {
    const std::string text = to_text(fluid_example_report());
    EXPECT_TRUE(says(text, "fluid: microbatches are flows")) << text;
    EXPECT_TRUE(says(text, "no messages to check")) << text;
}

TEST(SimReportText, ShowsTheFirstViolations) {
    SimReport report = example_report();
    for (int i = 0; i < 9; ++i) {
        report.violations.push_back("I1 broken, number " + std::to_string(i));
    }
    const std::string text = to_text(report);
    EXPECT_TRUE(says(text, "number 4")) << text;
    EXPECT_FALSE(says(text, "number 5")) << text;
    EXPECT_TRUE(says(text, "and more")) << text;
    EXPECT_FALSE(says(text, "none")) << text;
}

TEST(SimReportText, SaysThatItWasInterrupted) {
    SimReport report = example_report();
    report.interrupted = true;
    EXPECT_TRUE(says(to_text(report), "INTERRUPTED"));
}

TEST(SimReportText, ManyStagesAreARange) {
    SimReport report = example_report();
    report.utilisation_per_stage.assign(64, 0.5);
    report.utilisation_per_stage[9] = 0.25;
    EXPECT_TRUE(says(to_text(report), "stages from 25.0 % to 50.0 %")) << to_text(report);
}

TEST(SimReportText, IsWholeForARunWithoutAStep) {
    EXPECT_GE(lines(to_text(SimReport{})), 10U);
}

TEST(SimReportTable, HasOneAlignedRowPerReport) {
    SimReport other = fluid_example_report();
    other.policy = "expected_finish";
    const std::string table = to_table({example_report(), other});
    EXPECT_EQ(lines(table), 3U);
    std::istringstream in(table);
    std::set<std::size_t> widths;
    for (std::string line; std::getline(in, line);) {
        widths.insert(line.size());
    }
    EXPECT_EQ(widths.size(), 1U) << table;
    EXPECT_TRUE(says(table, "iwrr")) << table;
    EXPECT_TRUE(says(table, "expected_finish")) << table;
}

}  // namespace
}  // namespace sim
