#include "tests/bench/quality_math.hpp"

#include <gtest/gtest.h>

#include <array>

namespace swarm::bench {
namespace {

std::vector<double> losses(const LossCurve& curve) {
    std::vector<double> losses;
    for (const LossPoint& point : curve) {
        losses.push_back(point.loss);
    }
    return losses;
}

TEST(QualityMath, SmoothsOverThePointsBefore) {
    const LossCurve curve{{0, 8}, {1, 4}, {2, 6}, {3, 2}};
    EXPECT_EQ(losses(smoothed(curve, 3)), (std::vector<double>{8, 6, 6, 4}));
    EXPECT_EQ(losses(smoothed(curve, 1)), losses(curve));
    EXPECT_EQ(smoothed(curve, 3)[3].at, 3);
    EXPECT_TRUE(smoothed({}, 3).empty());
}

TEST(QualityMath, MeansGoAsFarAsTheShortestCurve) {
    const std::array<LossCurve, 2> curves{LossCurve{{0, 4}, {10, 3}, {20, 1}}, {{0, 2}, {10, 1}}};
    EXPECT_EQ(losses(mean_of(curves)), (std::vector<double>{3, 2}));
    EXPECT_EQ(mean_of(curves)[1].at, 10);
}

TEST(QualityMath, ReadsALossBetweenPoints) {
    const LossCurve curve{{10, 4}, {20, 2}, {40, 1}};
    EXPECT_EQ(loss_at(curve, 15), 3);
    EXPECT_EQ(loss_at(curve, 20), 2);
    EXPECT_EQ(loss_at(curve, 30), 1.5);
    EXPECT_EQ(loss_at(curve, 0), 4) << "before the first point";
    EXPECT_EQ(loss_at(curve, 99), 1) << "after the last";
}

TEST(QualityMath, FindsTheStepThatReachesALoss) {
    const LossCurve curve{{10, 4}, {20, 2}, {30, 3}, {40, 1}};
    EXPECT_EQ(first_at_or_below(curve, 3), 15);
    EXPECT_EQ(first_at_or_below(curve, 2), 20);
    EXPECT_EQ(first_at_or_below(curve, 1.5), 37.5);
    EXPECT_EQ(first_at_or_below(curve, 5), 10);
    EXPECT_EQ(first_at_or_below(curve, 0.5), std::nullopt);
}

TEST(QualityMath, AFlatPieceIsReachedWhereItBegins) {
    EXPECT_EQ(first_at_or_below({{10, 4}, {20, 2}, {30, 2}}, 2), 20);
}

TEST(QualityMath, PercentsAreOfTheReference) {
    EXPECT_EQ(percent_above(2.5, 2), 25);
    EXPECT_EQ(percent_above(1.5, 2), -25);
}

TEST(QualityMath, AStepOfOneStageIsItsComputing) {
    const LineStep alone{
        .stages = 1,
        .microbatches = 8,
        .compute_s = 4,
        .forward_bytes = 1000,
        .backward_bytes = 1000,
        .line_bytes_per_s = 1};
    EXPECT_EQ(seconds_on_line(alone), 4);
}

TEST(QualityMath, AWideLineLeavesTheBubble) {
    // 1 s per stage and microbatch: 8 of them, and one on its way through the other stage.
    const LineStep wide{.stages = 2, .microbatches = 8, .compute_s = 16, .line_bytes_per_s = 1};
    EXPECT_EQ(seconds_on_line(wide), 9);
}

TEST(QualityMath, ANarrowLineOfTwoStagesCarriesOneLegEachWay) {
    // 4 s forward, 2 s back, 1 s of computing: 8 x 4, then 2 x 1 + 2 of the last one's way.
    const LineStep narrow{
        .stages = 2,
        .microbatches = 8,
        .compute_s = 16,
        .forward_bytes = 400,
        .backward_bytes = 200,
        .line_bytes_per_s = 100};
    EXPECT_EQ(seconds_on_line(narrow), 36);
}

TEST(QualityMath, AMiddleStageHasBothLegsOnEachWayOfItsLine) {
    // 6 s of line per microbatch; the way is 3 x 1 + 2 x 6.
    const LineStep narrow{
        .stages = 3,
        .microbatches = 8,
        .compute_s = 24,
        .forward_bytes = 400,
        .backward_bytes = 200,
        .line_bytes_per_s = 100};
    EXPECT_EQ(seconds_on_line(narrow), 8 * 6 + 3 + 6);
}

TEST(QualityMath, DescribesTheDemoModelOnTenMegabits) {
    // 2 stages: `local` measured 4096 tokens at 2,001 tokens/s, with 10 ms of delay.
    const LineStep demo{
        .stages = 2,
        .microbatches = 8,
        .compute_s = 0.3,
        .forward_bytes = 262'144,
        .backward_bytes = 262'144,
        .line_bytes_per_s = 1.25e6};
    EXPECT_NEAR(seconds_on_line(demo), 1.925, 0.001);
}

}  // namespace
}  // namespace swarm::bench
