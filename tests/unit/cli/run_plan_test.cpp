#include "swarm/cli/plan/run_plan.hpp"

#include "sim/fluid/fluid_run.hpp"
#include "swarm/cli/plan/plan.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "tests/unit/cli/parsed_words.hpp"

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>

namespace swarm::cli {
namespace {

using Split = std::vector<std::uint32_t>;

/// Layers of three units each: a forward is one unit in the simulator, a backward two.
PlanRequest request_of(std::uint32_t layers, std::uint32_t stages, std::size_t peers) {
    PlanRequest request;
    request.config.model.layers = layers;
    request.config.stages = stages;
    request.config.microbatches = 64;
    request.peers.assign(peers, {10, 0});
    request.layer_ms.assign(layers, 3);
    return request;
}

TEST(RunPlan, EqualStagesAndPeersAreEquallyBusy) {
    const RunPlan plan = *make_plan(request_of(4, 4, 8));
    ASSERT_EQ(plan.stages.size(), 4U);
    for (const RunPlan::Stage& stage : plan.stages) {
        EXPECT_EQ(stage.layers, 1U);
        EXPECT_EQ(stage.peers.size(), 2U);
        EXPECT_NEAR(stage.per_s, 20.0 / 3, 1e-9);
        EXPECT_NEAR(stage.busy, plan.utilisation, 1e-9);
    }
    // The step: 64 microbatches at the rate of a stage, and the way of one through the other three.
    EXPECT_NEAR(plan.step_s, 64 / (20.0 / 3) + 3 * 0.3, 1e-9);
}

/// A third of the work is left to a stage below all that trains, and no gradient goes there.
TEST(RunPlan, AFrozenStageComputesForwardsAlone) {
    PlanRequest request = request_of(4, 4, 4);
    request.line_bytes_per_s = {1e6};
    request.config.train.freeze = {"embed", "layers.0-1"};
    const RunPlan plan = *make_plan(request);
    EXPECT_DOUBLE_EQ(plan.stages[0].units, 1);
    EXPECT_DOUBLE_EQ(plan.stages[1].units, 1);
    EXPECT_DOUBLE_EQ(plan.stages[2].units, 3);
    const std::vector<bool> sends{
        plan.passing_s[1] > 0, plan.passing_s[3] > 0, plan.passing_s[5] > 0};
    EXPECT_EQ(sends, (std::vector{false, false, true}));
    EXPECT_GT(plan.passing_s[0], 0);
}

TEST(RunPlan, TheFastestPeersAreSpreadOverTheStages) {
    PlanRequest request = request_of(2, 2, 4);
    request.peers[0].units_per_s = 40;
    request.peers[1].units_per_s = 40;
    const RunPlan plan = *make_plan(request);
    EXPECT_NEAR(plan.stages[0].per_s, plan.stages[1].per_s, 1e-9);
}

TEST(RunPlan, SaysWhatLimitsTheRun) {
    PlanRequest request = request_of(3, 3, 4);
    EXPECT_EQ(make_plan(request)->limit.substr(0, 38), "stage 1 has the least capacity, with o");
    request.config.microbatches = 4;
    EXPECT_NE(make_plan(request)->limit.find("raise microbatches"), std::string::npos);
    request.config.microbatches = 64;
    request.config.in_flight = 2;
    EXPECT_EQ(make_plan(request)->limit, "too few microbatches are under way: raise in_flight");
}

/// Activations of the demo model, 65,536 values, over lines of 10 Mb/s.
PlanRequest narrow(std::string_view codec) {
    PlanRequest request = request_of(2, 2, 2);
    request.config.codec = run::CodecSetting::find(codec).value();
    request.layer_ms = {1, 1};
    request.peers.assign(2, {1000, 0});
    request.line_bytes_per_s = {1.25e6};
    return request;
}

TEST(RunPlan, NarrowLinesLimitTheRun) {
    const RunPlan plan = *make_plan(narrow("none"));
    ASSERT_EQ(plan.passing_s.size(), 2U);
    EXPECT_NEAR(plan.passing_s[0], 262'144 / 1.25e6, 1e-9);
    // All microbatches pass; the way of the first one and the way back of the last one add to that.
    EXPECT_NEAR(plan.step_s, 64 * plan.passing_s[0] + plan.passing_s[1] + 0.002, 1e-9);
    EXPECT_NE(plan.limit.find("the lines of stage 0"), std::string::npos);
    EXPECT_NE(plan.limit.find("--codec auto"), std::string::npos);
    const std::string text = to_text(plan, WorkUnit::Milliseconds);
    EXPECT_NE(text.find("0 and 1: none/none, 0.2097 s up"), std::string::npos) << text;
}

TEST(RunPlan, SaysWhichCodecsANarrowLineLeadsTo) {
    const RunPlan plan = *make_plan(narrow("auto"));
    EXPECT_EQ(run::to_text(plan.codecs), "int4/int4");
    EXPECT_LT(plan.step_s, make_plan(narrow("int8"))->step_s * 0.6);
    PlanRequest wide = narrow("auto");
    wide.line_bytes_per_s = {1e9};
    EXPECT_EQ(run::to_text(make_plan(wide)->codecs), "none/none");
}

TEST(RunPlan, ReplicasTakeTimeToBecomeOneAgain) {
    PlanRequest request = narrow("int4");
    request.config.microbatches = 8;
    request.latency_s = 0.01;
    EXPECT_EQ(make_plan(request)->sync_s, 0) << "nobody has a replica";
    request.peers.assign(4, {1000, 0});
    const RunPlan exact = *make_plan(request);
    const auto parameters = static_cast<double>(exact.stages[1].parameters);  // the larger stage
    EXPECT_NEAR(exact.sync_bytes, parameters / 2 * 7.3, 1);
    EXPECT_NEAR(exact.sync_s, parameters / 2 * 7.3 / 1.25e6 + 0.02, 1e-6);
    EXPECT_NE(exact.limit.find("exchange data for"), std::string::npos) << exact.limit;
    EXPECT_NE(exact.limit.find("--mode sparse"), std::string::npos) << exact.limit;
    request.config.mode = run::SyncMode::Sparse;
    const RunPlan sparse = *make_plan(request);
    EXPECT_NEAR(sparse.step_s - sparse.sync_s, exact.step_s - exact.sync_s, 1e-9);
    EXPECT_NEAR(sparse.sync_s, (parameters * 116 / 4096 / 1.25e6 + 0.03) / 8, 1e-4);
    EXPECT_EQ(sparse.limit.find("exchange data for"), std::string::npos) << sparse.limit;
    const std::string text = to_text(sparse, WorkUnit::Milliseconds);
    EXPECT_NE(text.find(" s in which the replicas of a stage exchange"), std::string::npos) << text;
    request.line_bytes_per_s.clear();
    request.latency_s = 0;
    const std::string free = to_text(*make_plan(request), WorkUnit::Milliseconds);
    EXPECT_NE(free.find("\nin it the replicas of a stage exchange"), std::string::npos) << free;
}

TEST(RunPlan, TheSlowerEndOfALineDecides) {
    PlanRequest request = narrow("none");
    request.line_bytes_per_s = {0, 1.25e6};  // the line of the first peer has no bound
    EXPECT_NEAR(make_plan(request)->passing_s[0], 262'144 / 1.25e6, 1e-9);
    request.line_bytes_per_s.clear();
    EXPECT_EQ(make_plan(request)->passing_s, (std::vector<double>{0, 0}));
}

TEST(RunPlan, WithoutMeasuredLayersTheHeadCostsAndTheEmbeddingDoesNot) {
    PlanRequest request = request_of(3, 3, 3);
    request.layer_ms.clear();
    request.config.model.vocabulary = 4096;
    const RunPlan plan = *make_plan(request);
    EXPECT_NEAR(plan.stages[0].units, plan.stages[1].units, 1e-12);
    const run::ModelConfig& model = request.config.model;
    const double tokens = static_cast<double>(request.config.batch) * model.context;
    const double head = 3 * tokens * 2 * model.width * model.vocabulary / 1e9;
    EXPECT_NEAR(plan.stages[2].units - plan.stages[1].units, head, 1e-9);
}

TEST(RunPlan, ProposesASplitThatIsFasterByTime) {
    PlanRequest request = request_of(6, 2, 2);
    EXPECT_EQ(better_split(request, *make_plan(request)), Split{});
    request.layer_ms = {1, 1, 1, 1, 2, 2};  // the parameters would put three layers in each stage
    EXPECT_EQ(better_split(request, *make_plan(request)), (Split{4, 2}));
    request.config.layers_per_stage = {4, 2};
    EXPECT_EQ(better_split(request, *make_plan(request)), Split{});
}

TEST(RunPlan, MemoryBoundsTheProposedSplit) {
    PlanRequest request = request_of(6, 2, 2);
    request.layer_ms = {1, 1, 1, 1, 1, 9};
    ASSERT_EQ(better_split(request, *make_plan(request)), (Split{5, 1}));
    const std::uint64_t memory_bytes = make_plan(request)->stages[0].memory_bytes;
    request.peers.assign(2, {10, memory_bytes + memory_bytes / 2});
    EXPECT_EQ(better_split(request, *make_plan(request)), (Split{4, 2}));
}

TEST(RunPlan, RefusesAnImpossibleRunInOneLine) {
    const auto text_of = [](const PlanRequest& request) {
        const Result<RunPlan> plan = make_plan(request);
        return plan ? std::string("planned") : plan.error().detail;
    };
    EXPECT_EQ(
        text_of(request_of(3, 3, 2)),
        "2 peers cannot serve 3 stages: name more, or use fewer stages"
    );
    PlanRequest request = request_of(3, 3, 3);
    request.layer_ms.pop_back();
    EXPECT_EQ(text_of(request), "--layer-ms names 2 layers, and the model has 3");
    request = request_of(3, 3, 3);
    request.peers.assign(3, {10, 1 << 20});
    EXPECT_EQ(text_of(request).substr(0, 18), "no peer lends the ");
}

TEST(RunPlan, APeerThatFitsNowhereIsNamed) {
    PlanRequest request = request_of(2, 2, 3);
    request.peers[1].memory_bytes = 1 << 20;
    const RunPlan plan = *make_plan(request);
    EXPECT_EQ(plan.idle_peers, (Split{1}));
    EXPECT_NE(
        to_text(plan, WorkUnit::Milliseconds).find("1 peers lend too little"), std::string::npos
    );
}

TEST(RunPlan, RepeatedLayersAreMoreWorkAndNoMoreMemory) {
    PlanRequest request = request_of(4, 2, 2);
    request.config.model.vocabulary = 256;
    request.layer_ms.clear();
    const RunPlan once = *make_plan(request);
    request.config.model.repeat = 3;
    const RunPlan often = *make_plan(request);
    // The first stage has no head, whose work counts once.
    EXPECT_NEAR(often.stages[0].units, 3 * once.stages[0].units, 1e-9);
    EXPECT_LT(often.stages[1].units, 3 * once.stages[1].units);
    EXPECT_GT(often.stages[1].units, 2 * once.stages[1].units);
    EXPECT_EQ(often.stages[0].parameters, once.stages[0].parameters);
    EXPECT_EQ(often.stages[0].memory_bytes, once.stages[0].memory_bytes);
    const std::string text = to_text(often, WorkUnit::Gflop);
    EXPECT_NE(text.find("each layer is computed 3 times in a row"), std::string::npos) << text;
    EXPECT_EQ(to_text(once, WorkUnit::Gflop).find("in a row"), std::string::npos);
}

TEST(RunPlan, OtherPathsChangeTheWorkOfTheirLayers) {
    PlanRequest request = request_of(4, 2, 2);
    request.config.paths = {{2, 3}, 2, 0};
    const RunPlan plan = *make_plan(request);
    EXPECT_DOUBLE_EQ(plan.stages[0].units, 6);
    EXPECT_DOUBLE_EQ(plan.stages[1].units, 3);
    const std::string text = to_text(plan, WorkUnit::Milliseconds);
    EXPECT_NE(text.find("the layers 2-3 are computed 0.5 times"), std::string::npos) << text;
}

TEST(RunPlan, NamesWhatIsFrozen) {
    PlanRequest request = request_of(4, 2, 2);
    const RunPlan plain = *make_plan(request);
    request.config.train.freeze = {"layers.0"};
    const RunPlan plan = *make_plan(request);
    EXPECT_GT(plan.stages[0].frozen_parameters, 0U);
    EXPECT_EQ(
        plan.stages[0].parameters + plan.stages[0].frozen_parameters, plain.stages[0].parameters
    );
    const std::string text = to_text(plan, WorkUnit::Milliseconds);
    EXPECT_NE(text.find("parameters more are frozen"), std::string::npos) << text;
    EXPECT_EQ(to_text(plain, WorkUnit::Milliseconds).find("frozen"), std::string::npos);
}

TEST(RunPlan, JsonAndTextSayTheSame) {
    const RunPlan plan = *make_plan(request_of(4, 2, 5));
    const auto json = boost::json::parse(to_json(plan, {3, 1})).as_object();
    EXPECT_EQ(json.at("stages").as_array().size(), 2U);
    EXPECT_DOUBLE_EQ(json.at("step_s").as_double(), plan.step_s);
    EXPECT_EQ(json.at("limit").as_string(), plan.limit);
    EXPECT_EQ(json.at("better_layers_per_stage").as_array().size(), 2U);
    const std::string text = to_text(plan, WorkUnit::Gflop);
    EXPECT_NE(text.find("limited by: " + plan.limit + "\n"), std::string::npos);
    EXPECT_NE(text.find("GFLOP"), std::string::npos);
}

// The plan has no microbatch that waits behind others, so a simulated step with several peers in a
// stage is longer.
TEST(RunPlan, ForetellsAtMostTheStepOfTheSimulator) {
    for (const std::size_t peers : {8U, 13U, 24U}) {
        PlanRequest request = request_of(4, 4, peers);
        request.latency_s = 0.02;
        request.config.microbatches = 512;
        const RunPlan plan = *make_plan(request);
        sim::Scenario scenario;
        scenario.duration = std::chrono::minutes(30);
        scenario.regions.latency = {{std::chrono::milliseconds(20)}};
        scenario.pipeline.microbatches = 512;
        scenario.groups[0].count = static_cast<std::uint32_t>(peers);
        scenario.groups[0].units_per_s = {sim::Draw::Kind::Constant, {10}};
        const sim::SimReport report = *sim::run_fluid(scenario, 1);
        std::printf(
            "%zu peers: step %.3f s planned, %.3f s simulated; busy %.1f %%, %.1f %%\n",
            peers,
            plan.step_s,
            report.step_s->mean,
            100 * plan.utilisation,
            100 * report.utilisation
        );
        EXPECT_LE(plan.step_s, report.step_s->mean * 1.01) << peers << " peers";
        EXPECT_GE(plan.step_s, report.step_s->mean * 0.75) << peers << " peers";
        EXPECT_GE(plan.utilisation, report.utilisation * 0.99) << peers << " peers";
        EXPECT_LE(plan.utilisation, report.utilisation * 1.3) << peers << " peers";
    }
}

TEST(PlanFlags, TakeLists) {
    const auto plan = test::options_of<PlanOptions>(
        {"plan",
         "run.toml",
         "--peers",
         "5",
         "--speeds",
         "1,0.5",
         "--latency",
         "30ms",
         "--stages",
         "2",
         "--line-rate",
         "8Mb/s,80Mb/s"}
    );
    EXPECT_EQ(plan.line_bytes_per_s, (std::vector<std::uint64_t>{1'000'000, 10'000'000}));
    EXPECT_EQ(plan.run_file, "run.toml");
    EXPECT_EQ(plan.peers, 5U);
    EXPECT_EQ(plan.speeds, (std::vector<double>{1, 0.5}));
    EXPECT_EQ(plan.latency, std::chrono::milliseconds(30));
    EXPECT_EQ(plan.run.stages, 2U);
}

TEST(PlanFlags, RefuseABadSpeedAndShowExamples) {
    for (const char* const speeds : {"0", "-1", "fast", "1,nan"}) {
        EXPECT_EQ(test::exit_of({"plan", "--speeds", speeds}).code, kUsage) << speeds;
    }
    EXPECT_EQ(test::exit_of({"plan", "--peers", "0"}).code, kUsage);
    const Exit help = test::exit_of({"plan", "--help"});
    EXPECT_EQ(help.code, kDone);
    EXPECT_NE(help.text.find("swarm plan run.toml --peers 6"), std::string::npos);
}

}  // namespace
}  // namespace swarm::cli
