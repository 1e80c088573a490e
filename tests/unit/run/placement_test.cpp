#include "swarm/run/placement.hpp"

#include <gtest/gtest.h>

namespace swarm::run {
namespace {

using namespace std::chrono_literals;
using protocol::Standing;

constexpr TimePoint kStart{};

class PlacementTest : public ::testing::Test {
 protected:
    SlotId member(std::uint64_t peer, std::uint32_t stage, Standing standing = Standing::Member) {
        protocol::SlotInfo info;
        info.peer = {{peer}};
        info.stage = {stage};
        info.standing = standing;
        return roster_.add(info);
    }

    static RunConfig config(const char* rebalancer) {
        RunConfig config;
        config.stages = 2;
        config.rebalancer = rebalancer;
        config.rebalance_every_s = 60;
        return config;
    }

    Roster roster_{2};
    SlotId idle_ = member(1, 0);
    SlotId other_ = member(2, 0);
    SlotId busy_ = member(3, 1);
};

TEST_F(PlacementTest, WithoutARebalancerNothingIsEverDue) {
    Placement placement(config("none"));
    EXPECT_EQ(placement.next_deadline(), kNever);
    EXPECT_FALSE(placement.decide(roster_, kStart + 1h));
    EXPECT_FALSE(placement.place(roster_));
}

TEST_F(PlacementTest, MovesByTheMeanOfWhatTheSendersSaw) {
    Placement placement(config("swarm-alg2"));
    EXPECT_FALSE(placement.decide(roster_, kStart));  // the period begins
    EXPECT_EQ(placement.next_deadline(), kStart + 60s);
    placement.note_own(roster_, {{idle_, 10, 0}, {other_, 10, 5}}, kStart);
    placement.note_own(roster_, {{idle_, 10, 2}, {other_, 10, 5}}, kStart);
    placement.note(roster_, idle_, {{busy_, 10, 4}});
    placement.note(roster_, other_, {{busy_, 10, 4}});
    EXPECT_FALSE(placement.decide(roster_, kStart + 59s));
    EXPECT_EQ(placement.decide(roster_, kStart + 60s), (router::Move{idle_, {0}, {1}}));
}

TEST_F(PlacementTest, ForgetsWhatThePeriodBeforeSaw) {
    Placement placement(config("swarm-alg2"));
    placement.decide(roster_, kStart);
    placement.note(roster_, idle_, {{busy_, 10, 8}});
    EXPECT_TRUE(placement.decide(roster_, kStart + 60s));
    EXPECT_FALSE(placement.decide(roster_, kStart + 120s));  // no queue anywhere
}

TEST_F(PlacementTest, OnlyMembersMoveAndCount) {
    member(4, 1, Standing::Observer);
    roster_.set_standing(idle_, Standing::Draining);
    Placement placement(config("swarm-alg2"));
    placement.decide(roster_, kStart);
    placement.note(roster_, idle_, {{busy_, 10, 8}});
    EXPECT_FALSE(placement.decide(roster_, kStart + 60s));  // stage 0 has one member left
}

TEST_F(PlacementTest, SendsANewcomerWhereTheQueueIs) {
    Placement placement(config("swarm-alg2"));
    placement.decide(roster_, kStart);
    placement.note_own(roster_, {{idle_, 10, 3}, {other_, 10, 3}}, kStart);
    EXPECT_EQ(placement.place(roster_), StageIndex{0});
    placement.note(roster_, idle_, {{busy_, 10, 8}});
    EXPECT_EQ(placement.place(roster_), StageIndex{1});
}

TEST_F(PlacementTest, TakesASendersWordOnlyAboutTheStageAbove) {
    Placement placement(config("swarm-alg2"));
    placement.decide(roster_, kStart);
    const SlotId invented{1234};
    placement.note(roster_, idle_, {{other_, 10, 16}, {idle_, 10, 16}, {invented, 10, 16}});
    placement.note(roster_, busy_, {{idle_, 10, 16}, {other_, 10, 16}, {busy_, 10, 16}});
    placement.note(roster_, invented, {{idle_, 10, 16}, {busy_, 10, 16}});
    EXPECT_FALSE(placement.decide(roster_, kStart + 60s));  // no queue anywhere
}

TEST_F(PlacementTest, CountsWhatIsToldTwiceOrOutOfOrderOnce) {
    const SlotId third = member(4, 1);
    Placement placement(config("swarm-alg2"));
    placement.decide(roster_, kStart);
    placement.note(roster_, idle_, {{third, 10, 1}, {busy_, 10, 16}, {third, 10, 16}});
    placement.note_own(roster_, {{idle_, 10, 1}, {other_, 10, 1}}, kStart);
    EXPECT_EQ(placement.place(roster_), StageIndex{0});  // two wait there, one above
}

TEST_F(PlacementTest, ALiarCountsNoMoreThanAFullWindow) {
    const SlotId third = member(4, 1);
    Placement placement(config("swarm-alg2"));
    placement.decide(roster_, kStart);
    placement.note(roster_, idle_, {{third, 10, 1e308}});
    placement.note(roster_, other_, {{third, 10, 1e308}});
    placement.note_own(roster_, {{idle_, 10, 16}, {other_, 10, 16.5}}, kStart);
    EXPECT_FALSE(placement.decide(roster_, kStart + 60s));  // 32 wait at either stage
}

TEST_F(PlacementTest, ForgetsTheViewsOfAndFromASlotThatIsGone) {
    Placement placement(config("swarm-alg2"));
    placement.decide(roster_, kStart);
    placement.note(roster_, other_, {{busy_, 10, 8}});
    placement.note_own(roster_, {{idle_, 10, 2}}, kStart);
    roster_.remove(other_);
    placement.note(roster_, idle_, {{busy_, 10, 1}});
    EXPECT_EQ(placement.place(roster_), StageIndex{0});
}

TEST_F(PlacementTest, LooksForItselfAsOftenAsPeersTell) {
    Placement placement(config("swarm-alg2"));
    EXPECT_TRUE(placement.wants_own_rates(kStart));
    placement.note_own(roster_, {}, kStart);
    EXPECT_FALSE(placement.wants_own_rates(kStart + 1s));
    EXPECT_TRUE(placement.wants_own_rates(kStart + 2s));
    EXPECT_FALSE(Placement(config("none")).wants_own_rates(kStart));
}

}  // namespace
}  // namespace swarm::run
