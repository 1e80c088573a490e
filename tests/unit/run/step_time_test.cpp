#include "swarm/run/step_time.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace swarm::run {
namespace {

constexpr std::uint32_t kMicrobatches = 8;

std::vector<StageTime> stages_of(std::size_t count, double peers = 1) {
    return std::vector<StageTime>(count, {peers, 0.1, 0, 0});
}

double step_s(const std::vector<StageTime>& stages, std::uint32_t in_flight = kMicrobatches) {
    return step_time(stages, kMicrobatches, in_flight).step_s;
}

TEST(StepTime, IsTheTimeOfTheBusiestDevicePlusTheWayThroughTheOthers) {
    std::vector<StageTime> stages = stages_of(3);
    EXPECT_NEAR(step_s(stages), 8 * 0.1 + 0.2, 1e-9);
    stages[1].compute_s = 0.3;
    EXPECT_NEAR(step_s(stages), 8 * 0.3 + 0.2, 1e-9);
    const StepTime step = step_time(stages, kMicrobatches, kMicrobatches);
    EXPECT_EQ(step.busiest, Busiest::Device);
    EXPECT_EQ(step.stage, 1U);
    EXPECT_NEAR(step.bubble_s, 0.2, 1e-9);
}

/// Eight microbatches on two peers are four rounds.
TEST(StepTime, PeersOfAStageShareItsWork) {
    EXPECT_NEAR(step_s(stages_of(2, 2)), 4 * 0.1 + 0.1, 1e-9);
}

TEST(StepTime, FewMicrobatchesUnderWayLeaveAllPeersIdle) {
    EXPECT_NEAR(step_s(stages_of(2), 1), 8 * 0.2, 1e-9);
    EXPECT_EQ(step_time(stages_of(2), kMicrobatches, 1).busiest, Busiest::Window);
}

TEST(StepTime, BothWaysBetweenTwoStagesAreBusyAtOnce) {
    std::vector<StageTime> stages = stages_of(2);
    stages[0].to_next_s = 0.5;
    stages[1].to_previous_s = 0.5;
    EXPECT_NEAR(step_s(stages), 8 * 0.5 + 0.2 + 0.5, 1e-9);
    EXPECT_EQ(step_time(stages, kMicrobatches, kMicrobatches).busiest, Busiest::Line);
}

TEST(StepTime, APeerInTheMiddleSendsBothWaysOverOneLine) {
    std::vector<StageTime> stages = stages_of(3);
    stages[0].to_next_s = stages[1].to_next_s = 0.5;
    stages[1].to_previous_s = stages[2].to_previous_s = 0.4;
    EXPECT_NEAR(step_s(stages), 8 * 0.9 + 0.3 + 0.9, 1e-9);
    EXPECT_EQ(step_time(stages, kMicrobatches, kMicrobatches).stage, 1U);
}

/// Four peers in the middle send fast enough; the one above cannot receive that much.
TEST(StepTime, ReceivingPeersLimitIt) {
    std::vector<StageTime> stages = stages_of(3);
    stages[1] = {4, 0.1, 0.5, 0};
    EXPECT_NEAR(step_s(stages), 8 * 0.5 + 0.3, 1e-9);
    EXPECT_EQ(step_time(stages, kMicrobatches, kMicrobatches).stage, 2U);
}

/// A microbatch goes to the first stage, up, down and back; then the commit goes there and back.
TEST(StepTime, EachHopCostsItsDelay) {
    const double without_s = step_s(stages_of(3));
    EXPECT_NEAR(step_time(stages_of(3), 8, 8, 0.05).step_s, without_s + 6 * 0.05 + 0.1, 1e-9);
}

}  // namespace
}  // namespace swarm::run
