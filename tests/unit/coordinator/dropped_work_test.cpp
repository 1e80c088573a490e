#include "swarm/coordinator/dropped_work.hpp"

#include <gtest/gtest.h>

namespace swarm::coordinator {
namespace {

using Dropped = DroppedWork::Verdict;

/// Slots 1 and 2 are in one stage, slot 3 is alone in the other.
class DroppedWorkTest : public testing::Test {
 protected:
    DroppedWork::Finding drop(std::uint32_t id, const std::set<SlotId>& parties) {
        return work_.note({id}, make_epoch(1, ++attempts_), parties, [](SlotId slot) {
            return slot == SlotId{1} || slot == SlotId{2};
        });
    }

    DroppedWork work_;
    std::uint32_t attempts_ = 0;
};

TEST_F(DroppedWorkTest, OneDropMayBeChance) {
    EXPECT_EQ(drop(0, {{3}}).verdict, Dropped::TryAgain);
    EXPECT_EQ(drop(1, {{3}}).verdict, Dropped::TryAgain);
}

TEST_F(DroppedWorkTest, TwoDropsAreSkippedWhenNoOtherReplicaCanTry) {
    drop(0, {{3}});
    EXPECT_EQ(drop(0, {{3}}).verdict, Dropped::Skip);
}

TEST_F(DroppedWorkTest, DropsOfDifferentReplicasAreSkipped) {
    drop(0, {{1}, {3}});
    EXPECT_EQ(drop(0, {{2}, {3}}).verdict, Dropped::Skip);
}

TEST_F(DroppedWorkTest, DropsOfOneReplicaAreTriedWithoutIt) {
    drop(0, {{1}, {3}});
    for (int i = 0; i < 7; ++i) {
        const auto [verdict, slot] = drop(0, {{1}, {3}});
        EXPECT_EQ(verdict, Dropped::TryWithout);
        EXPECT_EQ(slot, SlotId{1});
    }
    const auto [verdict, slot] = drop(0, {{1}, {3}});
    EXPECT_EQ(verdict, Dropped::Fence);
    EXPECT_EQ(slot, SlotId{1});
}

TEST_F(DroppedWorkTest, AnAttemptCountsOnce) {
    for (int i = 0; i < 100; ++i) {
        const auto finding = work_.note({0}, make_epoch(1, 1), {{3}}, [](SlotId) { return false; });
        EXPECT_EQ(finding.verdict, Dropped::TryAgain);
    }
}

TEST_F(DroppedWorkTest, AReplicaThatIsPartyToAllOfManyDropsIsFenced) {
    for (std::uint32_t id = 0; id < 64; ++id) {
        EXPECT_EQ(drop(id, {{1}, {3}}).verdict, Dropped::TryAgain);
    }
    const auto [verdict, slot] = drop(64, {{1}, {3}});
    EXPECT_EQ(verdict, Dropped::Fence);
    EXPECT_EQ(slot, SlotId{1});
}

TEST_F(DroppedWorkTest, ManyDropsOfDifferentReplicasAreSkipped) {
    for (std::uint32_t id = 0; id < 64; ++id) {
        EXPECT_EQ(drop(id, {{1 + id % 2}, {3}}).verdict, Dropped::TryAgain);
    }
    EXPECT_EQ(drop(64, {{1}, {3}}).verdict, Dropped::Skip);
}

TEST_F(DroppedWorkTest, ClearForgetsAllDrops) {
    drop(0, {{3}});
    work_.clear();
    EXPECT_EQ(drop(0, {{3}}).verdict, Dropped::TryAgain);
}

}  // namespace
}  // namespace swarm::coordinator
