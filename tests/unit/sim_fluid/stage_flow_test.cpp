#include "sim/fluid/stage_flow.hpp"

#include <gtest/gtest.h>

namespace sim {
namespace {

PeerFlow flow(double per_s) {
    return {1 / per_s, 0, per_s, per_s};
}

class StageFlowTest : public testing::Test {
 protected:
    void add_both(StageFlow& stage) {
        stage.add({1}, 1, flow(1));
        stage.add({2}, 2, flow(3));
    }

    std::unique_ptr<router::Policy> by_rate_ = router::make_policy("iwrr", 1);
    std::unique_ptr<router::Policy> uniform_ = router::make_policy("uniform", 1);
};

TEST_F(StageFlowTest, CapacityIsTheSumOfTheRatesWhereSharesFollowThem) {
    StageFlow stage(*by_rate_);
    EXPECT_EQ(stage.capacity(), 0);
    add_both(stage);
    EXPECT_DOUBLE_EQ(stage.capacity(), 4);
    EXPECT_DOUBLE_EQ(stage.share(stage.members()[1]), 0.75);
}

TEST_F(StageFlowTest, EqualSharesWaitForTheSlowest) {
    StageFlow stage(*uniform_);
    add_both(stage);
    EXPECT_DOUBLE_EQ(stage.capacity(), 2);
}

TEST_F(StageFlowTest, DeviceTimeIsAMeanByTheShares) {
    StageFlow stage(*by_rate_);
    add_both(stage);
    EXPECT_DOUBLE_EQ(stage.compute_s(), 0.25 * 1 + 0.75 / 3);
}

TEST_F(StageFlowTest, AMachineThatStandsStillHasNoShare) {
    StageFlow stage(*uniform_);
    add_both(stage);
    stage.change({1}, {});
    EXPECT_DOUBLE_EQ(stage.capacity(), 3);
    EXPECT_EQ(stage.share(stage.members()[0]), 0);
}

TEST_F(StageFlowTest, IsAsBeforeWhenANewcomerHasGone) {
    StageFlow stage(*by_rate_);
    add_both(stage);
    stage.add({3}, 3, flow(0.1));
    stage.remove({3});
    EXPECT_DOUBLE_EQ(stage.capacity(), 4);
    EXPECT_EQ(stage.members().size(), 2U);
}

TEST_F(StageFlowTest, KeepsItsMembersInSlotOrder) {
    StageFlow stage(*by_rate_);
    stage.add({5}, 1, flow(1));
    stage.add({2}, 2, flow(1));
    EXPECT_EQ(stage.members()[0].slot, SlotId{2});
}

}  // namespace
}  // namespace sim
