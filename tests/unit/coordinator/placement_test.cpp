#include "swarm/coordinator/placement.hpp"

#include "tests/start.hpp"

#include <gtest/gtest.h>

namespace swarm::coordinator {
namespace {

using namespace std::chrono_literals;
using protocol::Standing;

using Moves = std::vector<router::Move>;
using swarm::test::kStart;

class PlacementTest : public ::testing::Test {
 protected:
    SlotId member(std::uint64_t peer, std::uint32_t stage, Standing standing = Standing::Member) {
        protocol::SlotInfo info;
        info.peer = {{peer}};
        info.stage = {stage};
        info.standing = standing;
        return roster_.add(info);
    }

    static Placement make(const char* rebalancer) {
        run::RunConfig config;
        config.model = *run::named_model("oracle");
        config.model.layers = 2;
        config.stages = 2;
        config.rebalancer = router::RebalancerName::find(rebalancer).value();
        config.rebalance_every_s = 60;
        return Placement(config, run::partition(config));
    }

    [[nodiscard]] std::optional<StageIndex> place(const Placement& placement) const {
        return placement.place(roster_, kStart, [](PeerId) { return true; });
    }

    run::Roster roster_{2};
    SlotId idle_ = member(1, 0);
    SlotId other_ = member(2, 0);
    SlotId busy_ = member(3, 1);
};

TEST_F(PlacementTest, WithoutARebalancerNothingIsEverDue) {
    Placement placement = make("none");
    EXPECT_EQ(placement.next_deadline(), kNever);
    EXPECT_TRUE(placement.decide(roster_, kStart + 1h).empty());
    EXPECT_FALSE(place(placement));
}

TEST_F(PlacementTest, MovesByTheMeanOfTheSendersViews) {
    Placement placement = make("swarm-alg2");
    EXPECT_TRUE(placement.decide(roster_, kStart).empty());  // the period begins
    EXPECT_EQ(placement.next_deadline(), kStart + 60s);
    placement.note_own(roster_, {{idle_, 10, 0}, {other_, 10, 5}}, kStart);
    placement.note_own(roster_, {{idle_, 10, 2}, {other_, 10, 5}}, kStart);
    placement.note(roster_, idle_, {{busy_, 10, 4}});
    placement.note(roster_, other_, {{busy_, 10, 4}});
    EXPECT_TRUE(placement.decide(roster_, kStart + 59s).empty());
    EXPECT_EQ(placement.decide(roster_, kStart + 60s), (Moves{{idle_, {0}, {1}}}));
}

TEST_F(PlacementTest, ForgetsTheQueuesOfThePeriodBefore) {
    Placement placement = make("swarm-alg2");
    placement.decide(roster_, kStart);
    placement.note(roster_, idle_, {{busy_, 10, 8}});
    EXPECT_FALSE(placement.decide(roster_, kStart + 60s).empty());
    EXPECT_TRUE(placement.decide(roster_, kStart + 120s).empty());  // no queue anywhere
}

TEST_F(PlacementTest, OnlyMembersMoveAndCount) {
    member(4, 1, Standing::Observer);
    roster_.set_standing(idle_, Standing::Draining);
    Placement placement = make("swarm-alg2");
    placement.decide(roster_, kStart);
    placement.note(roster_, idle_, {{busy_, 10, 8}});
    EXPECT_TRUE(placement.decide(roster_, kStart + 60s).empty());  // stage 0 has one member left
}

TEST_F(PlacementTest, SendsANewcomerWhereTheQueueIs) {
    Placement placement = make("swarm-alg2");
    placement.decide(roster_, kStart);
    placement.note_own(roster_, {{idle_, 10, 3}, {other_, 10, 3}}, kStart);
    EXPECT_EQ(place(placement), StageIndex{0});
    placement.note(roster_, idle_, {{busy_, 10, 8}});
    EXPECT_EQ(place(placement), StageIndex{1});
}

TEST_F(PlacementTest, TakesASendersWordOnlyAboutTheStageAbove) {
    Placement placement = make("swarm-alg2");
    placement.decide(roster_, kStart);
    const SlotId invented{1234};
    placement.note(roster_, idle_, {{other_, 10, 16}, {idle_, 10, 16}, {invented, 10, 16}});
    placement.note(roster_, busy_, {{idle_, 10, 16}, {other_, 10, 16}, {busy_, 10, 16}});
    placement.note(roster_, invented, {{idle_, 10, 16}, {busy_, 10, 16}});
    EXPECT_TRUE(placement.decide(roster_, kStart + 60s).empty());  // no queue anywhere
}

TEST_F(PlacementTest, CountsAViewThatComesTwiceOrOutOfOrderOnce) {
    const SlotId third = member(4, 1);
    Placement placement = make("swarm-alg2");
    placement.decide(roster_, kStart);
    placement.note(roster_, idle_, {{third, 10, 1}, {busy_, 10, 16}, {third, 10, 16}});
    placement.note_own(roster_, {{idle_, 10, 1}, {other_, 10, 1}}, kStart);
    EXPECT_EQ(place(placement), StageIndex{0});  // two wait in stage 0, one in stage 1
}

TEST_F(PlacementTest, ALiarCountsNoMoreThanAFullWindow) {
    const SlotId third = member(4, 1);
    Placement placement = make("swarm-alg2");
    placement.decide(roster_, kStart);
    placement.note(roster_, idle_, {{third, 10, 1e308}});
    placement.note(roster_, other_, {{third, 10, 1e308}});
    placement.note_own(roster_, {{idle_, 10, 16}, {other_, 10, 16.5}}, kStart);
    EXPECT_TRUE(placement.decide(roster_, kStart + 60s).empty());  // 32 wait at either stage
}

TEST_F(PlacementTest, ForgetsTheViewsOfAndFromASlotThatIsGone) {
    Placement placement = make("swarm-alg2");
    placement.decide(roster_, kStart);
    placement.note(roster_, other_, {{busy_, 10, 8}});
    placement.note_own(roster_, {{idle_, 10, 2}}, kStart);
    roster_.remove(other_);
    placement.note(roster_, idle_, {{busy_, 10, 1}});
    EXPECT_EQ(place(placement), StageIndex{0});
}

/// Stage 0 has two peers of 4 units per second; stage 1 has one that is as slow.
void note_rates(
    Placement& placement, const run::Roster& roster, SlotId idle, SlotId other, SlotId busy
) {
    placement.note_own(roster, {{idle, 4, 0}, {other, 4, 0}}, kStart);
    placement.note(roster, idle, {{busy, 4, 0}});
}

TEST_F(PlacementTest, CapacityCountsTheHighestRateThatAnySenderSaw) {
    const SlotId third = member(4, 1);
    member(5, 1);
    member(6, 1);
    Placement placement = make("capacity");
    placement.decide(roster_, kStart);
    placement.note_own(roster_, {{idle_, 10, 0}, {other_, 10, 0}}, kStart);
    placement.note(roster_, idle_, {{busy_, 2, 0}, {third, 2, 0}});
    placement.note(roster_, other_, {{busy_, 10, 0}, {third, 10, 0}});
    EXPECT_EQ(placement.decide(roster_, kStart + 60s), (Moves{{busy_, {1}, {0}}}));
}

TEST_F(PlacementTest, AMoverCountsInItsNewStageAndHoldsALease) {
    const SlotId third = member(4, 0);
    const SlotId fourth = member(5, 0);
    Placement placement = make("capacity");
    placement.decide(roster_, kStart);
    note_rates(placement, roster_, idle_, other_, busy_);
    ASSERT_EQ(placement.decide(roster_, kStart + 60s), (Moves{{idle_, {0}, {1}}}));
    roster_.set_standing(idle_, Standing::Draining);
    EXPECT_TRUE(placement.decide(roster_, kStart + 120s).empty());  // three peers and two
    roster_.remove(idle_);
    const SlotId moved = member(1, 1, Standing::Observer);
    EXPECT_EQ(place(placement), StageIndex{1});
    roster_.remove(moved);
    const SlotId settled = member(1, 1);
    roster_.remove(third);
    roster_.remove(fourth);
    placement.note_own(roster_, {{other_, 1, 0}}, kStart + 121s);
    placement.note(roster_, other_, {{busy_, 8, 0}, {settled, 2, 0}});
    EXPECT_EQ(placement.decide(roster_, kStart + 180s), (Moves{{busy_, {1}, {0}}}));
    EXPECT_EQ(placement.decide(roster_, kStart + 240s), (Moves{{settled, {1}, {0}}}));
}

TEST_F(PlacementTest, AStageThatLostAMemberIsLookedAtSoon) {
    const SlotId third = member(4, 1);
    member(5, 0);
    Placement placement = make("capacity");
    placement.decide(roster_, kStart);
    note_rates(placement, roster_, idle_, other_, busy_);
    EXPECT_EQ(placement.next_deadline(), kStart + 60s);
    roster_.remove(third);
    placement.note_own(roster_, {}, kStart + 2s);
    EXPECT_EQ(placement.next_deadline(), kStart + 2s + kRoundAfterLoss);
    EXPECT_EQ(placement.decide(roster_, kStart + 7s), (Moves{{idle_, {0}, {1}}}));
    EXPECT_EQ(placement.next_deadline(), kStart + 60s);
}

TEST_F(PlacementTest, LongDownloadsMakeMovesDearer) {
    for (const auto download : {10s, 36000s}) {
        run::Roster roster{2};
        roster_ = roster;
        const SlotId idle = member(1, 0);
        const SlotId other = member(2, 0);
        member(3, 0);
        const SlotId busy = member(4, 1);
        Placement placement = make("capacity");
        placement.decide(roster_, kStart);
        const SlotId joiner = member(5, 1, Standing::Observer);
        placement.note_own(roster_, {}, kStart);
        roster_.remove(joiner);
        const SlotId joined = member(5, 1);
        placement.note_own(roster_, {}, kStart + download);
        roster_.remove(joined);
        note_rates(placement, roster_, idle, other, busy);
        EXPECT_EQ(placement.decide(roster_, kStart + 72000s).empty(), download > 60s);
    }
}

TEST_F(PlacementTest, APeerThatIsNotThereDoesNotCountForANewcomer) {
    Placement placement = make("capacity");
    member(4, 1);
    const auto is_there = [](PeerId peer) { return peer != PeerId{{3}}; };
    EXPECT_EQ(placement.place(roster_, kStart, is_there), StageIndex{1});
    EXPECT_EQ(place(placement), StageIndex{0});
}

TEST_F(PlacementTest, TheCoordinatorGivesItsViewsAsOftenAsPeersDo) {
    Placement placement = make("swarm-alg2");
    EXPECT_TRUE(placement.wants_own_rates(kStart));
    placement.note_own(roster_, {}, kStart);
    EXPECT_FALSE(placement.wants_own_rates(kStart + 1s));
    EXPECT_TRUE(placement.wants_own_rates(kStart + 2s));
    EXPECT_FALSE(make("none").wants_own_rates(kStart));
}

}  // namespace
}  // namespace swarm::coordinator
