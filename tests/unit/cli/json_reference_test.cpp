// The tables of swarm/cli/README.md are complete: the keys of --json that the program writes, and
// its exit codes.
#include "sim/report/sim_report.hpp"
#include "stacking/models/gguf_model.hpp"
#include "swarm/base/token_flags.hpp"
#include "swarm/cli/answer/answer_report.hpp"
#include "swarm/cli/common/run_report.hpp"
#include "swarm/cli/data/data_report.hpp"
#include "swarm/cli/doctor/checks.hpp"
#include "swarm/cli/eval/eval_report.hpp"
#include "swarm/cli/judge/judge_report.hpp"
#include "swarm/cli/local/local_service.hpp"
#include "swarm/cli/metrics/step_metrics.hpp"
#include "swarm/cli/model/model_summary.hpp"
#include "swarm/cli/plan/run_plan.hpp"
#include "swarm/cli/runs/run_comparison.hpp"
#include "swarm/cli/status/run_status.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/web/run_state.hpp"
#include "tests/places.hpp"
#include "tests/unit/cli/runs/two_peers.hpp"
#include "tests/unit/stacking_models/small_gguf.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <string>

namespace swarm::cli {
namespace {

namespace json = boost::json;
using std::chrono::seconds;

/// The types of each key: "number", "number or null".
using Keys = std::map<std::string, std::set<std::string>>;
using test::kAnna;
using test::kBert;

std::string type_of(const json::value& value) {
    switch (value.kind()) {
        case json::kind::null:
            return "null";
        case json::kind::bool_:
            return "true or false";
        case json::kind::string:
            return "text";
        case json::kind::array:
            return "list";
        case json::kind::object:
            return "object";
        default:
            return "number";
    }
}

void collect(const json::value& value, const std::string& path, Keys& keys) {
    // The row of a list stands for its elements, too, where they are objects.
    const bool is_part = path.empty() || (path.ends_with("[]") && value.is_object());
    if (!is_part) {
        keys[path].insert(type_of(value));
    }
    if (const json::object* const object = value.if_object()) {
        for (const auto& [key, field] : *object) {
            // The types of weights are names of this model.
            const std::string name = path == "tensors" ? "TYPE" : std::string(key);
            collect(field, path.empty() ? name : path + "." + name, keys);
        }
    } else if (const json::array* const array = value.if_array()) {
        for (const json::value& element : *array) {
            collect(element, path + "[]", keys);
        }
    }
}

std::string cell(std::string_view row, std::size_t number) {
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= number; ++i) {
        begin = row.find('|', begin) + 1;
    }
    const std::string text(row.substr(begin, row.find('|', begin) - begin));
    const std::size_t first = text.find_first_not_of(" `");
    return first == std::string::npos ? ""
                                      : text.substr(first, text.find_last_not_of(" `") + 1 - first);
}

/// Reads the table below the heading: the text of the type by key.
std::map<std::string, std::string> documented(const std::string& heading) {
    std::ifstream in(swarm::test::source_dir() + "/swarm/cli/README.md");
    std::map<std::string, std::string> types;
    bool here = false;
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with('#')) {
            here = line == "### " + heading;
        } else if (here && line.starts_with("| `")) {
            EXPECT_TRUE(types.emplace(cell(line, 0), cell(line, 1)).second) << line;
            EXPECT_TRUE(cell(line, 3).ends_with('.')) << line << ": the meaning is a sentence";
        }
    }
    return types;
}

void expect_documented(const std::string& heading, const std::vector<json::value>& documents) {
    Keys written;
    for (const json::value& document : documents) {
        collect(document, "", written);
    }
    const auto rows = documented(heading);
    EXPECT_FALSE(rows.empty()) << heading;
    for (const auto& [key, types] : written) {
        const auto row = rows.find(key);
        ASSERT_NE(row, rows.end()) << heading << ": no row for " << key;
        for (const std::string& type : types) {
            EXPECT_NE(row->second.find(type), std::string::npos)
                << heading << ": " << key << " is also " << type << ", not only " << row->second;
        }
    }
    for (const auto& [key, type] : rows) {
        EXPECT_TRUE(written.contains(key)) << heading << ": nothing writes " << key;
    }
}

TEST(JsonReference, OfTheStateOfARun) {
    RunState fresh{run::RunConfig{}};
    RunState busy{run::RunConfig{}};
    busy.add(Listening{"", "name@here:7117"}, TimePoint{});
    node::PeerChanged changed;
    changed.peer = kAnna;
    busy.add(changed, TimePoint{});
    busy.add(node::StepSkipped{0, "why", {}}, TimePoint{});
    node::StepCommitted step;
    step.loss = 1;
    busy.add(step, TimePoint{});
    busy.add(node::RunFailed{1, "why"}, TimePoint{});
    expect_documented(
        "`/api/state` of a run",
        {json::parse(fresh.to_json(TimePoint{})), json::parse(busy.to_json(TimePoint{}))}
    );
}

TEST(JsonReference, OfALineOfMetrics) {
    StepMetrics step;
    step.loss = 1;
    step.peers_per_stage = {2};
    step.wire_bytes = 3;
    step.looped = true;
    StepMetrics skipped;
    skipped.tokens_per_s = std::numeric_limits<double>::infinity();
    skipped.gradient_norm = skipped.tokens_per_s;
    skipped.skipped = "why";
    expect_documented(
        "A line of `metrics.jsonl`", {json::parse(to_line(step)), json::parse(to_line(skipped))}
    );
    const HeldOutFound found{2, 3.25, true, {{"a", 3.0, 1.5}, {"b", 3.5}}};
    const HeldOutFound bad{2, std::numeric_limits<double>::infinity(), true, {{"a", 1e9}}};
    expect_documented(
        "The line of an evaluation", {json::parse(to_line(found, 1)), json::parse(to_line(bad, 1))}
    );
}

TEST(JsonReference, ListsTheKeysOfARun) {
    run::RunConfig config;
    RunReport report(config);
    report.set_line_delay(seconds(1));
    report.add_peer(kAnna, {.service_ms = 20, .line_bytes_per_s = 1000});
    node::StepCommitted step{0, 3.5, 1.0, seconds(2), 8, 8, 1, 0};
    step.wire_bytes = 1000;
    step.codecs = "int4/int8";
    report.add(step, TimePoint(seconds(3)));
    report.add(
        node::PeerChanged{kBert, {1}, node::PeerChange::Admitted, "", {1, 1}}, TimePoint(seconds(4))
    );
    report.add(node::WorkCounted{0, kBert, {1}, 8, 100}, TimePoint(seconds(4)));
    report.events().freeze(kBert, TimePoint(seconds(5)), seconds(1));
    report.add(step, TimePoint(seconds(7)));
    report.add(HeldOutFound{1, 3, true, {{"a", 1e9, 2.0}, {"b", 1}}}, TimePoint(seconds(7)));
    report.add(node::RunFinished{}, TimePoint(seconds(8)));
    report.set_verification({false, Digest{}, "weights"});
    expect_documented(
        "`swarm train` and `swarm local` with a run",
        {json::parse(report.to_json()), json::parse(RunReport(config).to_json())}
    );
}

TEST(JsonReference, ListsTheKeysOfAnAnswerInThisProcess) {
    const Answer answer{{1, 2}, 0.5, 0.5, 1};
    expect_documented(
        "`swarm generate` in this process",
        {json::parse(to_json(GenerateOptions(), 3, answer, "text"))}
    );
}

AnswerRecord full_record() {
    AnswerRecord record{.name = "smollm2", .replay = "exact"};
    record.prompt_tokens = 3;
    record.ids = {1, 2};
    record.answered_by_hop = {0, 2};
    record.readers.push_back({"smollm2", {{kAnna, kBert}}, {protocol::CodecId::None}});
    record.moves.push_back({.request = 1, .position = 4, .reason = "gone"});
    return record;
}

TEST(JsonReference, ListsTheKeysOfAnAnswerByPeers) {
    const AnswerRecord one = full_record();
    AnswerRecord ensemble = full_record();
    ensemble.is_ensemble = true;
    ensemble.readers.front().dropped = {.request = 1, .member = 0, .position = 4, .reason = "late"};
    const std::vector<ServiceFault> faults{{ServiceFault::Kind::Freeze, 1, kAnna}};
    expect_documented(
        "`swarm generate --join` and `swarm local` with a model or a stack",
        {to_json(one),
         to_json(ensemble),
         to_json(one, faults, true),
         to_json(one, {}, std::nullopt)}
    );
}

TEST(JsonReference, ListsTheKeysOfAPlan) {
    PlanRequest request;
    request.config.model.layers = 4;
    request.config.stages = 2;
    request.peers.assign(3, {10, 0});
    request.layer_ms.assign(4, 3);
    Result<RunPlan> plan = make_plan(request);
    ASSERT_TRUE(plan) << plan.error().detail;
    plan->idle_peers.push_back(2);
    expect_documented("`swarm plan`", {json::parse(to_json(*plan, {1, 3}))});
}

TEST(JsonReference, ListsTheKeysOfASimulatedRun) {
    sim::SimReport full;
    full.step_seconds = {1};
    full.step_s = sim::StepTimes{1, 1, 1};
    full.shares = {{1, 0, 8, 1}};
    full.utilisation_per_stage = {0.5};
    full.throughput_of_optimal = 1;
    full.replayed = 0;
    full.fenced = 0;
    full.lost_work_share = 0;
    full.violations = {"I1"};
    full.failure = "stage 0 had no peer";
    full.samples = {{1, {1}, {0.5}, 1, 10}};
    full.notes = {{1, sim::NoteKind::Crash, "peer 1"}};
    sim::SimReport empty;
    empty.mode = sim::Mode::Fluid;
    expect_documented(
        "`swarm sim` and `swarm sim compare`",
        {json::parse(sim::to_json(full)), json::parse(sim::to_json(empty))}
    );
}

TEST(JsonReference, ListsTheKeysOfAModel) {
    const auto model = stacking::models::open_gguf(std::make_unique<stacking::models::MemoryBytes>(
        stacking::models::test::small_gguf().bytes()
    ));
    ASSERT_TRUE(model);
    expect_documented("`swarm model show`", {json::parse(to_json(summarise(*model, 2)))});
}

TEST(JsonReference, ListsTheKeysOfAnEvaluation) {
    EvalFigures one;
    one.path = {0, 0};
    one.texts = {{.name = "a", .bytes = 2, .tokens = 1, .nats = 1}};
    one.texts.front().exits = {{0.5, {1, 0}, 1}};
    one.texts.front().tried = {{0.5, {1, 0}, 1}};
    one.exits_at = {3};
    one.exit_cost = 1;
    one.tasks = {{.task = find_task("copy"), .items = 2, .right = 1}};
    EvalFigures other;
    other.texts = {{.name = "b", .bytes = 2, .tokens = 1, .nats = 1e300}};
    other.texts.front().nats = std::numeric_limits<double>::infinity();
    other.texts.front().exits = {{0.5, {1, 0}, std::numeric_limits<double>::infinity()}};
    expect_documented(
        "`swarm eval`",
        {json::parse(to_json(one)),
         json::parse(to_json(other)),
         json::parse(to_json(EvalFigures()))}
    );
}

TEST(JsonReference, ListsTheKeysOfData) {
    data::Manifest manifest;
    manifest.sources.resize(2);
    manifest.sources[0].weight = 1;
    expect_documented(
        "`swarm data build` and `swarm data show`", {json::parse(data_json(manifest, Digest{}))}
    );
    const ShownSample sample{0, "prose", {}, {1, 2 | kNoLossFlag}, "a"};
    expect_documented("`swarm data sample`", {json::parse(samples_json(std::span(&sample, 1)))});
}

TEST(JsonReference, ListsTheKeysOfRuns) {
    std::vector<RunSummary> runs(2);
    runs[0].loss = 1;
    runs[0].held_out = 2;
    runs[0].best_held_out = 1;
    runs[1].standing = RunStanding::Unreadable;
    expect_documented("`swarm runs`", {json::parse(runs_json(runs))});
    const RunComparison comparison{"a", "b", {{"run.seed", "1", "2"}}, {{3, 1, 2}}};
    expect_documented("`swarm runs --compare`", {json::parse(comparison_json(comparison))});
}

TEST(JsonReference, ListsTheKeysOfAJudge) {
    JudgeReport report;
    report.domains = {"sea"};
    report.recipes = {{"dense", "one model", 1, {{{1}, 1, 1, 1}}, "the time was over"}};
    expect_documented("`swarm stack judge`", {json::parse(judge_json(report))});
}

TEST(JsonReference, ListsTheKeysOfAStatus) {
    RunStatus status;
    status.loss = 1;
    status.stages = {{0, 1, {{"peer", "member", "192.0.2.1:1"}}}};
    expect_documented("`swarm status`", {json::parse(status_json(status))});
}

TEST(JsonReference, ListsTheKeysOfAFinding) {
    const std::vector<Finding> findings{{Finding::Level::Warning, "clock", "is wrong", "mend it"}};
    expect_documented("`swarm doctor`", {json::parse(to_json(findings))});
}

TEST(ExitCodes, AreAllInTheReference) {
    std::ifstream in(swarm::test::source_dir() + "/swarm/cli/README.md");
    std::set<std::string> codes;
    bool here = false;
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with('#')) {
            here = line == "## Exit codes";
        } else if (here && line.starts_with("| ")) {
            codes.insert(cell(line, 0));
        }
    }
    codes.erase("code");
    const auto text = [](int code) { return std::to_string(code); };
    const std::string signals = text(after_signal(SIGINT)) + ", " + text(after_signal(SIGTERM));
    EXPECT_EQ(
        codes,
        (std::set<std::string>{
            text(kDone),
            text(kRunFailed),
            text(kUsage),
            text(kRejected),
            text(kNobody),
            text(after_signal(SIGPIPE)),
            signals})
    );
}

}  // namespace
}  // namespace swarm::cli
