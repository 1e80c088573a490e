#include "tests/bench/quality/quality_math.hpp"

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

/// All of a run of config.steps, and of what is trained beyond it.
std::vector<std::uint64_t> trials(const run::RunConfig& config, std::uint64_t made) {
    std::vector<std::uint64_t> trials;
    for (std::uint64_t step = 1; step <= made; ++step) {
        if (is_tried_after(config, step)) {
            trials.push_back(step);
        }
    }
    return trials;
}

TEST(QualityMath, TriesThirtyTimesAndAtTheLastStep) {
    run::RunConfig config;
    config.steps = 64;
    const std::vector<std::uint64_t> made = trials(config, 69);
    ASSERT_EQ(made.size(), 34U);
    EXPECT_EQ(made[0], 2U);
    EXPECT_EQ(made[31], 64U);
    EXPECT_EQ(made[33], 68U);
    config.steps = 3;
    EXPECT_EQ(trials(config, 4), (std::vector<std::uint64_t>{1, 2, 3, 4}));
    config.steps = 125;
    EXPECT_EQ(trials(config, 134).back(), 133U) << "counted from the last step";
}

TEST(QualityMath, TriesModeSparseAtTheExchangesBeforeTheTrialsOfOtherRows) {
    run::RunConfig config;
    config.mode = run::SyncMode::Sparse;
    config.sync_every = 8;
    config.steps = 300;  // others are tried after 10, 20, 30, ..
    const std::vector<std::uint64_t> made = trials(config, 325);
    const std::vector<std::uint64_t> first(made.begin(), made.begin() + 8);
    EXPECT_EQ(first, (std::vector<std::uint64_t>{8, 16, 24, 40, 48, 56, 64, 80}));
    const std::vector<std::uint64_t> last(made.end() - 4, made.end());
    EXPECT_EQ(last, (std::vector<std::uint64_t>{288, 300, 304, 320}))
        << "none is due from 296 to 299";
    for (const std::uint64_t trial : made) {
        EXPECT_TRUE(run::is_sync_step(config, trial - 1)) << trial;
    }
}

TEST(QualityMath, TriesModeSparseAtTheLastStepOfAShortRun) {
    run::RunConfig config;
    config.mode = run::SyncMode::Sparse;
    config.sync_every = 8;
    config.steps = 4;
    EXPECT_EQ(trials(config, 6), (std::vector<std::uint64_t>{4}));
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

/// For each microbatch 4 s forward, 2 s back on a line; 1 s of computing in each stage.
LineStep on_a_narrow_line(std::uint32_t stages) {
    return {
        .stages = stages,
        .microbatches = 8,
        .compute_s = 8.0 * stages,
        .forward_bytes = 400,
        .backward_bytes = 200,
        .line_bytes_per_s = 100};
}

TEST(QualityMath, ANarrowLineOfTwoStagesCarriesOneLegEachWay) {
    // 8 x 4, then 2 x 1 + 2 of the last one's way.
    EXPECT_EQ(seconds_on_line(on_a_narrow_line(2)), 36);
}

TEST(QualityMath, AMiddleStageHasBothLegsOnEachWayOfItsLine) {
    // 6 s of line per microbatch; the way is 3 x 1 + 2 x 6.
    EXPECT_EQ(seconds_on_line(on_a_narrow_line(3)), 8 * 6 + 3 + 6);
}

TEST(QualityMath, PeersOfAStageShareItsMicrobatchesAndThenExchange) {
    // Every other microbatch to each of two peers: 8 x 4 / 2, then 2 x 1 + 2; then 300 bytes at
    // 100 a second.
    LineStep shared = on_a_narrow_line(2);
    shared.peers = 2;
    shared.sync_bytes = 300;
    EXPECT_EQ(seconds_on_line(shared), 20 + 3);
}

TEST(QualityMath, AReplicaSendsItsPartsAndTheValuesItOwns) {
    // Two replicas: half of the sums, 8 bytes each, and half of the values, 4 each, once.
    EXPECT_DOUBLE_EQ(exact_sync_bytes(1000, 2, 1e9), 500 * 8 + 500 * 4);
    // Four: three quarters of the sums, and a quarter of the values to each of three.
    EXPECT_DOUBLE_EQ(exact_sync_bytes(1000, 4, 1e9), 750 * 8 + 3 * 250 * 4);
    EXPECT_EQ(exact_sync_bytes(1000, 1, 1e9), 0) << "there is nobody else";
}

TEST(QualityMath, ASlowLineHasItsPartsPacked) {
    EXPECT_DOUBLE_EQ(exact_sync_bytes(1000, 2, 1.25e6), 500 * 3.3 + 500 * 4);
    EXPECT_DOUBLE_EQ(exact_sync_bytes(1000, 2, 250e6), 500 * 3.3 + 500 * 4);
    EXPECT_DOUBLE_EQ(exact_sync_bytes(1000, 2, 251e6), 500 * 8 + 500 * 4);
}

TEST(QualityMath, AShareGoesToEachOtherReplicaOnceInSomeSteps) {
    EXPECT_EQ(sparse_sync_bytes(1000, 2, 8), 125);
    EXPECT_EQ(sparse_sync_bytes(1000, 4, 8), 375);
    EXPECT_EQ(sparse_sync_bytes(1000, 1, 8), 0);
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
