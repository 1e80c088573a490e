#include "swarm/coordinator/step_ledger.hpp"

#include "tests/start.hpp"

#include <gtest/gtest.h>

namespace swarm::coordinator {
namespace {

using namespace std::chrono_literals;
using Ids = std::vector<MicrobatchId>;
using swarm::test::kStart;

constexpr Epoch kFirstEpoch{1};
constexpr Epoch kRecall{2};
constexpr SlotId kLow{10};
constexpr SlotId kLowTwin{11};
constexpr SlotId kHigh{20};
constexpr StageIndex kBottom{0};
constexpr StageIndex kTop{1};

/// Two stages, three microbatches.
class StepLedgerTest : public testing::Test {
 protected:
    void launch(std::uint32_t id, SlotId first_hop = kLow, TimePoint now = kStart) {
        ledger_.launched({id}, kFirstEpoch, now);
        ledger_.offered({id}, first_hop);
    }

    void finish(std::uint32_t id, SlotId low = kLow, double loss = 1) {
        ledger_.pathed({id}, {low, kHigh}, loss, kStart + 1s);
        ledger_.left_flight({id});
    }

    void run(std::uint32_t id, SlotId low = kLow) {
        launch(id, low);
        finish(id, low);
    }

    void hold(SlotId slot, StageIndex stage, Ids ids) {
        protocol::Held held;
        held.epoch = kRecall;
        held.ids = std::move(ids);
        ledger_.held(slot, stage, held);
    }

    StepLedger ledger_{2, StageMask::first(2), 3};
};

/// Stage 0 is frozen whole: no attempt asks it for gradients, and nobody owns any there.
TEST_F(StepLedgerTest, AStageThatDoesNotTrainIsInNoMask) {
    StageMask top;
    top.add(kTop);
    ledger_ = StepLedger(2, top, 3);
    EXPECT_EQ(ledger_.next_launch(8)->mask, top);
    run(0);
    EXPECT_TRUE(ledger_.ids_of(kLow, kBottom).empty());
    EXPECT_EQ(ledger_.ids_of(kHigh, kTop), (Ids{{0}}));
    launch(1);
    ledger_.need(MicrobatchId{0});
    ledger_.need(MicrobatchId{1});
    ledger_.begin_recall(kRecall);
    hold(kHigh, kTop, {{0}});
    ledger_.end_recall();
    EXPECT_EQ(ledger_.next_launch(8)->microbatch, MicrobatchId{1});
    EXPECT_EQ(ledger_.mask({1}), top);
    EXPECT_TRUE(ledger_.mask({0}).empty());
}

TEST_F(StepLedgerTest, LaunchesEachMicrobatchOnceInOrder) {
    for (std::uint32_t id = 0; id < 3; ++id) {
        const auto next = ledger_.next_launch(8);
        ASSERT_TRUE(next);
        EXPECT_EQ(next->microbatch, MicrobatchId{id});
        EXPECT_EQ(next->mask, StageMask::first(2));
        EXPECT_FALSE(next->replay);
        launch(id);
    }
    EXPECT_FALSE(ledger_.next_launch(8));
    EXPECT_EQ(ledger_.in_flight(), 3U);
    EXPECT_EQ(ledger_.replayed(), 0U);
}

TEST_F(StepLedgerTest, OwnsByPathAndStage) {
    run(0, kLow);
    run(1, kLowTwin);
    run(2, kLow);
    EXPECT_EQ(ledger_.ids_of(kLow, kBottom), (Ids{{0}, {2}}));
    EXPECT_EQ(ledger_.ids_of(kLowTwin, kBottom), (Ids{{1}}));
    EXPECT_EQ(ledger_.ids_of(kHigh, kTop), (Ids{{0}, {1}, {2}}));
    EXPECT_TRUE(ledger_.all_pathed());
}

TEST_F(StepLedgerTest, MeasuresAWaveFromItsLaunch) {
    launch(0, kLow, kStart + 1s);
    EXPECT_EQ(ledger_.pathed({0}, {kLow, kHigh}, 1, kStart + 3s), 2s);
}

TEST_F(StepLedgerTest, LeavesTheFlightOnce) {
    launch(0);
    EXPECT_TRUE(ledger_.left_flight({0}));
    EXPECT_FALSE(ledger_.left_flight({0}));
    EXPECT_EQ(ledger_.in_flight(), 0U);
}

TEST_F(StepLedgerTest, KnowsTheCurrentAttempt) {
    EXPECT_FALSE(ledger_.is_current({0}, kFirstEpoch));
    launch(0);
    EXPECT_TRUE(ledger_.is_current({0}, kFirstEpoch));
    EXPECT_FALSE(ledger_.is_current({0}, kRecall));
    EXPECT_FALSE(ledger_.is_current({99}, kFirstEpoch));
    ledger_.need({0});
    EXPECT_FALSE(ledger_.is_current({0}, kFirstEpoch));
}

TEST_F(StepLedgerTest, NeedsNothingThatIsNotLaunched) {
    ledger_.need({1});
    ledger_.need({99});
    EXPECT_FALSE(ledger_.needs_recall());
}

TEST_F(StepLedgerTest, NeedsTheMicrobatchesThatAFencedSlotOwned) {
    run(0, kLow);
    run(1, kLowTwin);
    ledger_.need_after_fence(kLow);
    EXPECT_EQ(ledger_.begin_recall(kRecall), (Ids{{0}}));
}

TEST_F(StepLedgerTest, NeedsTheMicrobatchesThatWereOfferedToAFencedSlot) {
    launch(0, kLow);
    launch(1, kLowTwin);
    ledger_.need_after_fence(kLow);
    EXPECT_EQ(ledger_.begin_recall(kRecall), (Ids{{0}}));
}

TEST_F(StepLedgerTest, NeedsNothingWhenTheFencedSlotOnlyPassedOnFinishedWork) {
    run(0, kLow);
    EXPECT_FALSE(ledger_.needs_recall());
    ledger_.need_after_fence(SlotId{99});
    EXPECT_FALSE(ledger_.needs_recall());
}

TEST_F(StepLedgerTest, RecallsAnAttemptOnce) {
    launch(0);
    ledger_.need({0});
    EXPECT_EQ(ledger_.begin_recall(kRecall), (Ids{{0}}));
    ledger_.need({0});
    EXPECT_FALSE(ledger_.needs_recall());
}

TEST_F(StepLedgerTest, ReplaysOnlyTheStagesThatHoldNothing) {
    run(0);
    ledger_.need({0});
    ledger_.begin_recall(kRecall);
    hold(kHigh, kTop, {{0}});
    ledger_.end_recall();
    const auto next = ledger_.next_launch(8);
    ASSERT_TRUE(next);
    EXPECT_EQ(next->microbatch, MicrobatchId{0});
    EXPECT_TRUE(next->replay);
    EXPECT_TRUE(next->mask.has(kBottom));
    EXPECT_FALSE(next->mask.has(kTop));
}

TEST_F(StepLedgerTest, KeepsTheOwnersOfStagesOutsideTheMaskOfAReplay) {
    run(0);
    ledger_.need({0});
    ledger_.begin_recall(kRecall);
    hold(kHigh, kTop, {{0}});
    ledger_.end_recall();
    ledger_.launched({0}, kRecall, kStart);
    ledger_.pathed({0}, {kLowTwin, SlotId{21}}, 1, kStart);
    EXPECT_EQ(ledger_.ids_of(kLowTwin, kBottom), (Ids{{0}}));
    EXPECT_EQ(ledger_.ids_of(kHigh, kTop), (Ids{{0}}));
    EXPECT_TRUE(ledger_.ids_of({21}, kTop).empty());
    EXPECT_EQ(ledger_.replayed(), 1U);
}

TEST_F(StepLedgerTest, LaunchesNothingThatIsHeldEverywhere) {
    run(0);
    run(1);
    run(2);
    ledger_.need({0});
    ledger_.begin_recall(kRecall);
    EXPECT_FALSE(ledger_.all_pathed());
    hold(kLow, kBottom, {{0}});
    hold(kHigh, kTop, {{0}});
    ledger_.end_recall();
    EXPECT_FALSE(ledger_.next_launch(8));
    EXPECT_TRUE(ledger_.all_pathed());
    EXPECT_EQ(ledger_.in_flight(), 0U);
}

TEST_F(StepLedgerTest, OfTwoThatClaimOneIdItBelievesTheOneToWhichThePathLed) {
    run(0);
    ledger_.need({0});
    ledger_.begin_recall(kRecall);
    hold(kLow, kBottom, {{0}});
    hold(kLow, kBottom, {{0}});
    EXPECT_FALSE(ledger_.contradicted());
    hold(kLowTwin, kBottom, {{0}});
    EXPECT_EQ(ledger_.contradicted(), kLowTwin);
    ledger_.disclaim(kLowTwin);
    EXPECT_FALSE(ledger_.contradicted());
    ledger_.end_recall();
    EXPECT_EQ(ledger_.ids_of(kLow, kBottom), (Ids{{0}}));
}

TEST_F(StepLedgerTest, TheSlotInMostContradictionsIsTheOneThatLies) {
    constexpr SlotId kThird{12};
    run(0, kLowTwin);
    run(1, kLowTwin);
    ledger_.need_all();
    ledger_.begin_recall(kRecall);
    hold(kLow, kBottom, {{0}});
    hold(kThird, kBottom, {{1}});
    hold(kLowTwin, kBottom, {{0}, {1}, {2}});
    EXPECT_EQ(ledger_.contradicted(), kThird) << "one contradiction, and no path";
    hold(kHigh, kTop, {{0}, {1}, {2}});
    hold(SlotId{13}, kBottom, {{2}});
    EXPECT_EQ(ledger_.contradicted(), kLowTwin) << "three against one each";
}

TEST_F(StepLedgerTest, IgnoresClaimsToIdsThatWereNotRecalled) {
    run(0);
    run(1);
    ledger_.need({0});
    ledger_.begin_recall(kRecall);
    hold(kLowTwin, kBottom, {{1}, {99}});
    EXPECT_EQ(ledger_.ids_of(kLow, kBottom), (Ids{{1}}));
    EXPECT_TRUE(ledger_.ids_of(kLowTwin, kBottom).empty());
}

TEST_F(StepLedgerTest, BoundsTheReplaysInFlight) {
    for (std::uint32_t id = 0; id < 3; ++id) {
        launch(id);
        ledger_.need({id});
    }
    ledger_.begin_recall(kRecall);
    ledger_.end_recall();
    const auto first = ledger_.next_launch(1);
    ASSERT_TRUE(first);
    ledger_.launched(first->microbatch, kRecall, kStart);
    EXPECT_FALSE(ledger_.next_launch(1));
    ledger_.left_flight(first->microbatch);
    EXPECT_TRUE(ledger_.next_launch(1));
}

TEST_F(StepLedgerTest, RecallsEverythingAfterARestart) {
    ledger_.need_all();
    EXPECT_FALSE(ledger_.next_launch(8));
    EXPECT_EQ(ledger_.begin_recall(kRecall), (Ids{{0}, {1}, {2}}));
    hold(kLow, kBottom, {{0}, {1}, {2}});
    protocol::Held held{{}, kRecall, {{0}, {1}}, {2, 4}};
    ledger_.held(kHigh, kTop, held);
    ledger_.end_recall();
    const auto next = ledger_.next_launch(8);
    ASSERT_TRUE(next);
    EXPECT_EQ(next->microbatch, MicrobatchId{2});
    ledger_.launched({2}, kRecall, kStart);
    ledger_.pathed({2}, {kLow, kHigh}, 6, kStart);
    EXPECT_EQ(ledger_.mean_loss(), 4);
}

TEST_F(StepLedgerTest, FindsTheOldestAttemptWithoutPath) {
    EXPECT_EQ(ledger_.oldest_launch(), kNever);
    launch(0, kLow, kStart + 1s);
    launch(1, kLow, kStart + 2s);
    EXPECT_EQ(ledger_.oldest_launch(), kStart + 1s);
    EXPECT_EQ(ledger_.launched_before(kStart + 1s), (Ids{{0}}));
    finish(0);
    EXPECT_EQ(ledger_.oldest_launch(), kStart + 2s);
    ledger_.need({1});
    EXPECT_EQ(ledger_.oldest_launch(), kNever);
    EXPECT_TRUE(ledger_.launched_before(kStart + 9s).empty());
}

TEST_F(StepLedgerTest, AveragesTheLossOverAllMicrobatches) {
    for (std::uint32_t id = 0; id < 3; ++id) {
        launch(id);
        finish(id, kLow, id + 1.0);
    }
    EXPECT_EQ(ledger_.mean_loss(), 2);
}

}  // namespace
}  // namespace swarm::coordinator
