#include "swarm/coordinator/dropped_work.hpp"

#include <gtest/gtest.h>

namespace swarm::coordinator {
namespace {

using Dropped = DroppedWork::Verdict;

/// Slots 1 and 2 are in one stage, slot 3 is alone in the next one, 4 to 6 are in the last one.
class DroppedWorkTest : public testing::Test {
 protected:
    DroppedWork::Finding drop(std::uint32_t id, DroppedWork::Drop drop) {
        const DroppedWork::Stages stages{
            [](SlotId slot) { return slot != SlotId{3}; },
            [](const std::set<SlotId>& slots) {
                const auto count = [&](std::set<SlotId> stage) {
                    std::erase_if(stage, [&](SlotId slot) { return !slots.contains(slot); });
                    return stage.size();
                };
                return count({{1}, {2}}) == 2 || count({{3}}) == 1 || count({{4}, {5}, {6}}) >= 2;
            }};
        return work_.note({id}, make_epoch(1, ++attempts_), drop, stages);
    }

    DroppedWork work_;
    std::uint32_t attempts_ = 0;
};

TEST_F(DroppedWorkTest, OneDropMayBeChance) {
    EXPECT_EQ(drop(0, {{3}, {3}}).verdict, Dropped::TryAgain);
    EXPECT_EQ(drop(1, {{3}, {3}}).verdict, Dropped::TryAgain);
}

TEST_F(DroppedWorkTest, TwoDropsAreSkippedWhenNoOtherReplicaCanTry) {
    drop(0, {{3}, {3}});
    EXPECT_EQ(drop(0, {{3}, {3}}).verdict, Dropped::Skip);
}

TEST_F(DroppedWorkTest, DropsOfMostReplicasAreSkipped) {
    drop(0, {{1}, {3}});
    EXPECT_EQ(drop(0, {{2}, {3}}).verdict, Dropped::Skip);
}

TEST_F(DroppedWorkTest, WhatMostReplicasOfAStageSentIsSkipped) {
    drop(0, {{3}, {1}});
    EXPECT_EQ(drop(0, {{3}, {2}}).verdict, Dropped::Skip);
}

TEST_F(DroppedWorkTest, AFewOfTwoStagesSkipNothingTogether) {
    drop(0, {{4}, {3}});
    for (int i = 0; i < 7; ++i) {
        const SlotId liar{i % 2 == 0 ? 1U : 4U};
        const auto [verdict, slot] = drop(0, {liar, {3}});
        EXPECT_EQ(verdict, Dropped::TryWithout);
        EXPECT_EQ(slot, liar);
    }
    for (std::uint32_t id = 1; id < 9; ++id) {
        drop(id, {{1}, {3}});
        const Dropped verdict = drop(id, {{4}, {3}}).verdict;
        EXPECT_EQ(verdict, id < 5 ? Dropped::TryWithout : Dropped::Fence) << id;
    }
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
    const DroppedWork::Stages none{
        [](SlotId) { return false; }, [](const std::set<SlotId>&) { return true; }};
    for (int i = 0; i < 100; ++i) {
        const auto finding = work_.note({0}, make_epoch(1, 1), {{3}, {3}}, none);
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

TEST_F(DroppedWorkTest, ManyDropsOfMostReplicasAreSkipped) {
    for (std::uint32_t id = 0; id < 64; ++id) {
        EXPECT_EQ(drop(id, {{1 + id % 2}, {3}}).verdict, Dropped::TryAgain);
    }
    EXPECT_EQ(drop(64, {{1}, {3}}).verdict, Dropped::Skip);
}

TEST_F(DroppedWorkTest, ClearForgetsAllDrops) {
    drop(0, {{3}, {3}});
    work_.clear();
    EXPECT_EQ(drop(0, {{3}, {3}}).verdict, Dropped::TryAgain);
}

}  // namespace
}  // namespace swarm::coordinator
