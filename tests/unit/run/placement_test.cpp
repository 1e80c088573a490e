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
    placement.note({}, {{idle_, 10, 0}, {other_, 10, 5}});
    placement.note({}, {{idle_, 10, 2}, {other_, 10, 5}});
    placement.note(idle_, {{busy_, 10, 4}});
    placement.note(other_, {{busy_, 10, 4}});
    EXPECT_FALSE(placement.decide(roster_, kStart + 59s));
    EXPECT_EQ(placement.decide(roster_, kStart + 60s), (router::Move{idle_, {0}, {1}}));
}

TEST_F(PlacementTest, ForgetsWhatThePeriodBeforeSaw) {
    Placement placement(config("swarm-alg2"));
    placement.decide(roster_, kStart);
    placement.note(idle_, {{busy_, 10, 8}});
    EXPECT_TRUE(placement.decide(roster_, kStart + 60s));
    EXPECT_FALSE(placement.decide(roster_, kStart + 120s));  // no queue anywhere
}

TEST_F(PlacementTest, OnlyMembersMoveAndCount) {
    member(4, 1, Standing::Observer);
    roster_.set_standing(idle_, Standing::Draining);
    Placement placement(config("swarm-alg2"));
    placement.decide(roster_, kStart);
    placement.note(idle_, {{busy_, 10, 8}});
    EXPECT_FALSE(placement.decide(roster_, kStart + 60s));  // stage 0 has one member left
}

TEST_F(PlacementTest, SendsANewcomerWhereTheQueueIs) {
    Placement placement(config("swarm-alg2"));
    placement.decide(roster_, kStart);
    placement.note({}, {{idle_, 10, 3}, {other_, 10, 3}});
    EXPECT_EQ(placement.place(roster_), StageIndex{0});
    placement.note(idle_, {{busy_, 10, 8}});
    EXPECT_EQ(placement.place(roster_), StageIndex{1});
}

}  // namespace
}  // namespace swarm::run
