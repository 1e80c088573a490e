// The policies on one stage of three peers that need 40, 80 and 160 ms per unit of work.
#include "one_stage.hpp"

#include <gtest/gtest.h>

namespace router {
namespace {

constexpr int kMicrobatches = 400;
constexpr std::size_t kInFlight = 12;
/// 400 microbatches of 3 units at 25 + 12.5 + 6.25 units per second.
constexpr double kIdealSeconds = 1200 / 43.75;

const std::vector<int> kUnequal{40, 80, 160};

TEST(OneStage, IwrrGivesSharesInProportionToSpeed) {
    OneStage stage("iwrr", kUnequal, kInFlight);
    stage.run(kMicrobatches);
    const double seventh = kMicrobatches / 7.0;
    EXPECT_NEAR(stage.picks_of(0, 0, kMicrobatches), 4 * seventh, 0.4 * seventh);
    EXPECT_NEAR(stage.picks_of(1, 0, kMicrobatches), 2 * seventh, 0.2 * seventh);
    EXPECT_NEAR(stage.picks_of(2, 0, kMicrobatches), 1 * seventh, 0.1 * seventh);
}

TEST(OneStage, ExpectedFinishIsWithinFivePercentOfTheIdeal) {
    OneStage stage("expected_finish", kUnequal, kInFlight);
    const double lasted_s = stage.run(kMicrobatches);
    EXPECT_GE(lasted_s, kIdealSeconds);
    EXPECT_LE(lasted_s, 1.05 * kIdealSeconds);
}

TEST(OneStage, ExpectedFinishTriesEachPeerAtLeastOnceInFiftyPicks) {
    OneStage stage("expected_finish", kUnequal, kInFlight);
    stage.run(kMicrobatches);
    for (std::size_t begin = 0; begin + 50 <= stage.picks().size(); ++begin) {
        for (std::size_t peer = 0; peer < 3; ++peer) {
            ASSERT_GE(stage.picks_of(peer, begin, begin + 50), 1)
                << "peer " << peer << " from pick " << begin;
        }
    }
}

TEST(OneStage, UniformIsSlowedDownToItsSlowestPeer) {
    OneStage stage("uniform", kUnequal, kInFlight);
    EXPECT_NEAR(stage.run(kMicrobatches), 68, 8);
}

TEST(OneStage, ShortestQueueKeepsAllBusyUntilTheSlowestEndsLast) {
    OneStage stage("shortest_queue", kUnequal, kInFlight);
    const double lasted_s = stage.run(kMicrobatches);
    EXPECT_GE(lasted_s, kIdealSeconds);
    // At the end the slowest still has its third of the window: 4 x 3 units at 160 ms.
    EXPECT_LE(lasted_s, kIdealSeconds + 12 * 0.16);
}

class LearningPolicy : public testing::TestWithParam<const char*> {};

TEST_P(LearningPolicy, NoticesAPeerThatBecameFourTimesFaster) {
    OneStage stage(GetParam(), kUnequal, kInFlight);
    stage.run(kMicrobatches);
    stage.set_speed(2, 40);
    const std::size_t changed = stage.picks().size();
    stage.run(kMicrobatches);
    // Fair is now 2 : 1 : 2, so 40 of any 100 picks; it was 14.
    EXPECT_GE(stage.picks_of(2, changed + 100, changed + 200), 34);
}

TEST_P(LearningPolicy, NoticesAPeerThatBecameFourTimesSlower) {
    OneStage stage(GetParam(), kUnequal, kInFlight);
    stage.run(kMicrobatches);
    stage.set_speed(0, 160);
    const std::size_t changed = stage.picks().size();
    stage.run(kMicrobatches);
    // Fair is now 1 : 2 : 1, so 25 of any 100 picks; it was 57.
    EXPECT_LE(stage.picks_of(0, changed + 100, changed + 200), 30);
}

TEST_P(LearningPolicy, TakesTheShareOfAPeerThatStallsAndGivesItBackAfterAProbe) {
    OneStage stage(GetParam(), kUnequal, kInFlight);
    stage.run(kMicrobatches);
    stage.set_frozen(0, true);
    const std::size_t stalled = stage.picks().size();
    stage.run(kMicrobatches);
    // At most one full window and the probes afterwards.
    EXPECT_LE(stage.picks_of(0, stalled, stage.picks().size()), 12 + 20);
    stage.set_frozen(0, false);
    const std::size_t back = stage.picks().size();
    stage.run(2 * kMicrobatches);
    // 57 of 100 is fair again.
    EXPECT_GE(stage.picks_of(0, back + 400, back + 500), 45);
}

INSTANTIATE_TEST_SUITE_P(
    Policies,
    LearningPolicy,
    testing::Values("iwrr", "expected_finish"),
    [](const testing::TestParamInfo<const char*>& policy) { return std::string(policy.param); }
);

TEST(OneStage, SameSeedGivesTheSamePicks) {
    for (const char* policy : {"iwrr", "expected_finish", "uniform"}) {
        OneStage first(policy, kUnequal, kInFlight);
        OneStage second(policy, kUnequal, kInFlight);
        EXPECT_EQ(first.run(kMicrobatches), second.run(kMicrobatches));
        EXPECT_EQ(first.picks(), second.picks()) << policy;
    }
}

}  // namespace
}  // namespace router
