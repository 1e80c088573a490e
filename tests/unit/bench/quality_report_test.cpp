#include "tests/bench/quality/quality_report.hpp"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <gtest/gtest.h>

namespace swarm::bench {
namespace {

SeedRun none_run(std::uint64_t seed) {
    return {
        .seed = seed,
        .training = {{0, 8}, {1, 6}, {2, 4}, {3, 2}},
        .held_out = {{0, 6}, {2, 4}, {4, 2}},
        .compute_s = 16};
}

/// Half a step more; a fifth more loss in training, twice the loss held out.
SeedRun int4_run(std::uint64_t seed) {
    return {
        .seed = seed,
        .training = {{0, 9}, {1, 7}, {2, 5}, {3, 3}, {4, 99}},
        .held_out = {{0, 6}, {2, 5}, {4, 4}, {5, 0}},
        .compute_s = 16};
}

/// The figures are those of quality_math_test: a step takes 36 s with "none", and 9.6 s with
/// "int4".
QualityRuns two_rows() {
    QualityRuns runs;
    runs.steps = 4;
    runs.stages = 2;
    runs.microbatches = 8;
    runs.line_bytes_per_s = 100;
    runs.held_out_tokens = 4096;
    runs.machine = "cpu";
    runs.rows = {{"none", {400, 200}, {none_run(1)}}, {"int4", {40, 20}, {int4_run(1)}}};
    return runs;
}

/// Two replicas share a stage's microbatches; on the way between stages both modes are as "none".
/// A step takes 20 s, and that of "exact" 10 s more, that of "sparse" 1 s more.
QualityRuns with_modes() {
    QualityRuns runs = two_rows();
    runs.modes = {
        {kExactRow, {400, 200}, {}, {2, {}, 1000}},
        {kSparseRow, {400, 200}, {int4_run(1)}, {2, 8, 100}}};
    runs.modes[1].seeds[0].held_out = {{0, 6}, {4, 3}, {6, 0}};
    return runs;
}

TEST(QualityReport, ComparesAtEqualSteps) {
    const QualityFigures figures = figures_of(two_rows());
    ASSERT_EQ(figures.codecs.rows.size(), 2U);
    const RowFigures& none = figures.codecs.rows[0];
    EXPECT_EQ(none.training.loss, 5);
    EXPECT_EQ(none.training.percent, 0);
    EXPECT_EQ(none.held_out.loss, 2);
    EXPECT_EQ(none.extra_steps, 0);
    const RowFigures& int4 = figures.codecs.rows[1];
    EXPECT_EQ(int4.training.loss, 6) << "without the step after the last";
    EXPECT_EQ(int4.training.percent, 20);
    EXPECT_EQ(int4.held_out.loss, 4);
    EXPECT_EQ(int4.held_out.percent, 100);
}

TEST(QualityReport, ReadsExtraStepsOffTheSmoothedCurve) {
    // Smoothed, "none" ends at 4; the other one has 5 after step 4 and 3 after step 5.
    EXPECT_EQ(figures_of(two_rows()).codecs.rows[1].extra_steps, 0.5);
    EXPECT_EQ(extra_steps({{0, 6}, {2, 2}, {4, 1}}, {{0, 6}, {2, 4}, {4, 2}}, 4), -2);
    EXPECT_EQ(extra_steps({{0, 6}, {2, 5}, {4, 4}}, {{0, 6}, {2, 4}, {4, 2}}, 4), std::nullopt);
}

TEST(QualityReport, ComparesWhenTheQuickestRowIsDone) {
    const ComparedRows codecs = figures_of(two_rows()).codecs;
    EXPECT_DOUBLE_EQ(codecs.rows[0].step_s, 36);
    EXPECT_DOUBLE_EQ(codecs.rows[1].step_s, 9.6);
    EXPECT_DOUBLE_EQ(codecs.equal_time_s, 4 * 9.6);
    EXPECT_DOUBLE_EQ(codecs.rows[0].equal_time_loss, 6 - 38.4 / 36);
    EXPECT_DOUBLE_EQ(codecs.rows[1].equal_time_loss, 4);
}

TEST(QualityReport, ExactHasTheLossesOfNoneAndATimeOfItsOwn) {
    const ComparedRows modes = figures_of(with_modes()).modes;
    ASSERT_EQ(modes.rows.size(), 2U);
    const RowFigures& exact = modes.rows[0];
    EXPECT_EQ(exact.name, "exact");
    EXPECT_EQ(exact.training.loss, 5);
    EXPECT_EQ(exact.held_out.loss, 2);
    EXPECT_EQ(exact.held_out.percent, 0);
    EXPECT_EQ(exact.extra_steps, 0);
    EXPECT_EQ(exact.compute_s, 16);
    EXPECT_DOUBLE_EQ(exact.step_s, 30);
    const RowFigures& sparse = modes.rows[1];
    EXPECT_EQ(sparse.training.loss, 6);
    EXPECT_EQ(sparse.held_out.loss, 3);
    EXPECT_EQ(sparse.held_out.percent, 50);
    EXPECT_DOUBLE_EQ(sparse.step_s, 21);
}

TEST(QualityReport, ComparesModesWhenTheQuickerOneIsDone) {
    const ComparedRows modes = figures_of(with_modes()).modes;
    EXPECT_DOUBLE_EQ(modes.equal_time_s, 4 * 21);
    EXPECT_DOUBLE_EQ(modes.rows[0].equal_time_loss, 4 - 0.8) << "after 2.8 steps";
    EXPECT_DOUBLE_EQ(modes.rows[1].equal_time_loss, 3);
}

TEST(QualityReport, ModesChangeNothingAboutCodecs) {
    const QualityRuns runs = with_modes();
    const std::string codecs = to_text(two_rows(), figures_of(two_rows()));
    EXPECT_TRUE(to_text(runs, figures_of(runs)).starts_with(codecs + "\n"));
    EXPECT_EQ(to_svg(runs, figures_of(runs)), to_svg(two_rows(), figures_of(two_rows())));
}

TEST(QualityReport, ExactHasTheSeedsThatSparseIsDoneWith) {
    QualityRuns runs = with_modes();
    runs.rows[0].seeds.push_back(none_run(2));
    runs.rows[0].seeds[1].held_out.back().loss = 4;
    EXPECT_EQ(figures_of(runs).codecs.rows[0].held_out.loss, 3);
    EXPECT_EQ(figures_of(runs).modes.rows[0].held_out.loss, 2);
    runs.modes[1].seeds.clear();
    EXPECT_TRUE(figures_of(runs).modes.rows.empty()) << "nothing to compare with";
}

TEST(QualityReport, MeansAreOfTheSeedsPercentages) {
    QualityRuns runs = two_rows();
    runs.rows[0].seeds.push_back(none_run(2));
    runs.rows[1].seeds.push_back(int4_run(2));
    runs.rows[0].seeds[1].held_out.back().loss = 4;
    runs.rows[1].seeds[1].held_out = {{0, 9}, {2, 9}, {4, 5}, {5, 9}};
    const RowFigures int4 = figures_of(runs).codecs.rows[1];
    EXPECT_EQ(int4.seeds[0].held_out.percent, 100);
    EXPECT_EQ(int4.seeds[1].held_out.percent, 25);
    EXPECT_EQ(int4.held_out.percent, 62.5);
    EXPECT_EQ(int4.held_out.loss, 4.5);
    EXPECT_EQ(int4.seeds[0].extra_steps, 0.5);
    EXPECT_EQ(int4.seeds[1].extra_steps, std::nullopt);
    EXPECT_EQ(int4.extra_steps, std::nullopt) << "one seed never came there";
    EXPECT_NE(to_text(runs, figures_of(runs)).find("extra steps > 2;"), std::string::npos);
}

TEST(QualityReport, SaysARowInALine) {
    const QualityRuns runs = two_rows();
    EXPECT_EQ(
        to_text(runs, figures_of(runs)),
        "none          training 5.0000 +0.00 % (+0.00), held out 2.0000 +0.00 % (+0.00), extra "
        "steps +0.0; 400 and 200 bytes a microbatch; a step on 0.0008 Mb/s 36 s, held out after "
        "38.4 s 4.9333\n"
        "int4          training 6.0000 +20.00 % (+20.00), held out 4.0000 +100.00 % (+100.00), "
        "extra steps +0.5; 40 and 20 bytes a microbatch; a step on 0.0008 Mb/s 9.60 s, held out "
        "after 38.4 s 4.0000\n"
    );
}

TEST(QualityReport, SaysModesBelowTheCodecs) {
    const QualityRuns runs = with_modes();
    const std::string text = to_text(runs, figures_of(runs));
    EXPECT_EQ(
        text.substr(text.find("\n\n") + 2),
        "exact         training 5.0000 +0.00 % (+0.00), held out 2.0000 +0.00 % (+0.00), extra "
        "steps +0.0; 2 replicas, each sends 1,000 bytes a step to the others; a step on 0.0008 "
        "Mb/s 30 s, held out after 1 min 24 s 3.2000\n"
        "sparse        training 6.0000 +20.00 % (+20.00), held out 3.0000 +50.00 % (+50.00), "
        "extra steps +0.7; 2 replicas, each sends 100 bytes a step to the others, once in 8 steps; "
        "a step on 0.0008 Mb/s 21 s, held out after 1 min 24 s 3.0000\n"
    );
}

TEST(QualityReport, WritesEachFieldAndTheCurveUpToTheLastStep) {
    const QualityRuns runs = two_rows();
    const boost::json::object json = to_json(runs, figures_of(runs));
    EXPECT_EQ(json.at("name"), "quality");
    EXPECT_EQ(json.at("steps"), 4U);
    EXPECT_EQ(json.at("line_bits_per_s"), 800.0);
    EXPECT_EQ(json.at("extra_steps_max"), 2U);
    EXPECT_TRUE(json.at("stopped").is_null());
    const boost::json::object& int4 = json.at("rows").at(1).as_object();
    EXPECT_EQ(int4.at("forward_bytes"), 40U);
    EXPECT_EQ(int4.at("backward_bytes"), 20U);
    EXPECT_EQ(int4.at("held_out_percent"), 100.0);
    EXPECT_EQ(int4.at("extra_steps"), 0.5);
    EXPECT_EQ(int4.at("curve").as_array().size(), 3U);
    EXPECT_EQ(int4.at("curve").at(1), (boost::json::array{2.0, 5.0}));
    EXPECT_EQ(int4.at("seeds").at(0).at("seed"), 1U);
    EXPECT_EQ(int4.at("seeds").at(0).at("training_percent"), 20.0);
}

TEST(QualityReport, WritesEachFieldOfAMode) {
    const QualityRuns runs = with_modes();
    const boost::json::object json = to_json(runs, figures_of(runs));
    EXPECT_EQ(json.at("rows").as_array().size(), 2U);
    EXPECT_EQ(json.at("modes_equal_time_s"), 84.0);
    ASSERT_EQ(json.at("modes").as_array().size(), 2U);
    const boost::json::object& exact = json.at("modes").at(0).as_object();
    EXPECT_EQ(exact.at("name"), "exact");
    EXPECT_EQ(exact.at("replicas"), 2U);
    EXPECT_TRUE(exact.at("sync_every").is_null());
    EXPECT_EQ(exact.at("sync_bytes_per_step"), 1000.0);
    EXPECT_EQ(exact.at("curve"), json.at("rows").at(0).at("curve"));
    const boost::json::object& sparse = json.at("modes").at(1).as_object();
    EXPECT_EQ(sparse.at("name"), "sparse");
    EXPECT_EQ(sparse.at("sync_every"), 8U);
    EXPECT_EQ(sparse.at("sync_bytes_per_step"), 100.0);
    EXPECT_EQ(sparse.at("step_s"), 21.0);
    EXPECT_EQ(sparse.at("held_out_loss"), 3.0);
    EXPECT_EQ(sparse.at("equal_time_loss"), 3.0);
    EXPECT_EQ(sparse.at("seeds").at(0).at("held_out_percent"), 50.0);
    EXPECT_FALSE(sparse.contains("forward_bytes"));
}

TEST(QualityReport, HasTheRowsThatWereDoneWhenItStopped) {
    QualityRuns runs = two_rows();
    runs.stopped = "interrupted";
    runs.rows[1].seeds.clear();
    const boost::json::object json = to_json(runs, figures_of(runs));
    EXPECT_EQ(json.at("stopped"), "interrupted");
    ASSERT_EQ(json.at("rows").as_array().size(), 1U);
    EXPECT_EQ(json.at("rows").at(0).at("name"), "none");
}

TEST(QualityReport, WithoutARunThereIsNothing) {
    QualityRuns runs = two_rows();
    runs.rows[0].seeds.clear();
    runs.rows[1].seeds.clear();
    const QualityFigures figures = figures_of(runs);
    EXPECT_TRUE(figures.codecs.rows.empty());
    EXPECT_EQ(to_text(runs, figures), "");
    EXPECT_EQ(to_svg(runs, figures), "");
    EXPECT_EQ(to_json(runs, figures).at("equal_time_s"), 0.0);
}

TEST(QualityReport, PlotsFromATenthOfTheStepsOn) {
    const QualityRuns runs = two_rows();
    const std::string svg = to_svg(runs, figures_of(runs));
    // "none": 72 s and 144 s, at losses of 4 and 2; at its start it had 6.
    EXPECT_NE(svg.find("d=\"M306 "), std::string::npos) << svg;
    EXPECT_NE(svg.find(">int4<"), std::string::npos);
    EXPECT_EQ(svg.find(">6.0<"), std::string::npos);
}

}  // namespace
}  // namespace swarm::bench
