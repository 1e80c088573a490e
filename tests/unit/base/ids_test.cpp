#include "swarm/base/ids.hpp"

#include <gtest/gtest.h>

#include <type_traits>

namespace swarm {

TEST(Id, DoesNotConvertIntoAnotherKind) {
    EXPECT_FALSE((std::is_convertible_v<StageIndex, MicrobatchId>));
    EXPECT_FALSE((std::is_convertible_v<SlotId, Epoch>));
    EXPECT_FALSE((std::is_convertible_v<std::uint64_t, SlotId>));
}

TEST(Id, IsOrderedByValue) {
    EXPECT_LT((MicrobatchId{1}), (MicrobatchId{2}));
    EXPECT_EQ((MicrobatchId{7}), (MicrobatchId{7}));
}

TEST(Epoch, GrowsWithTheIncarnationOfTheCoordinator) {
    EXPECT_LT(make_epoch(1, 0xffff'ffff), make_epoch(2, 0));
    EXPECT_LT(make_epoch(2, 1), make_epoch(2, 2));
    EXPECT_EQ(make_epoch(0xffff'ffff, 0xffff'ffff).value, ~0ULL);
}

TEST(ParameterVersion, GrowsWithTheGenerationFirst) {
    EXPECT_LT((ParameterVersion{.gen = 1, .step = 900}), (ParameterVersion{.gen = 2, .step = 3}));
    EXPECT_LT((ParameterVersion{.gen = 2, .step = 3}), (ParameterVersion{.gen = 2, .step = 4}));
}

TEST(PeerId, IsOrderedByItsFirstWordFirst) {
    EXPECT_LT((PeerId{{1, 9, 9, 9}}), (PeerId{{2, 0, 0, 0}}));
    EXPECT_NE((PeerId{{1, 0, 0, 0}}), (PeerId{{1, 0, 0, 1}}));
}

TEST(StageMask, HasTheStagesThatWereAdded) {
    StageMask mask;
    EXPECT_TRUE(mask.empty());
    mask.add({0});
    mask.add({63});
    EXPECT_FALSE(mask.empty());
    for (std::uint32_t stage = 0; stage < 64; ++stage) {
        EXPECT_EQ(mask.has({stage}), stage == 0 || stage == 63) << stage;
    }
}

TEST(StageMask, FirstHoldsExactlyThatManyStages) {
    EXPECT_TRUE(StageMask::first(0).empty());
    EXPECT_EQ(StageMask::first(3).bits, 0b111U);
    EXPECT_EQ(StageMask::first(63).bits, ~0ULL >> 1);
    EXPECT_EQ(StageMask::first(64).bits, ~0ULL);
}

// A stage passes its backward on when a stage below it is in the mask.
TEST(StageMask, HasBelowLooksStrictlyBelow) {
    StageMask mask;
    mask.add({2});
    EXPECT_FALSE(mask.has_below({0}));
    EXPECT_FALSE(mask.has_below({2}));
    EXPECT_TRUE(mask.has_below({3}));
    EXPECT_TRUE(mask.has_below({63}));
    mask = {};
    mask.add({63});
    EXPECT_FALSE(mask.has_below({63}));
}

}  // namespace swarm
