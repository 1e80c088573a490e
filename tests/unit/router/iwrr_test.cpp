#include "router/iwrr.hpp"

#include "tests/unit/router/in_slot_order.hpp"
#include "tests/unit/router/one_unit.hpp"

#include <gtest/gtest.h>

#include <map>

namespace router {
namespace {

using test::kOneUnit;

std::map<SlotId, int> count_picks(Iwrr& policy, int picks) {
    std::map<SlotId, int> counts;
    for (int i = 0; i < picks; ++i) {
        ++counts[*policy.pick(kOneUnit, {})];
    }
    return counts;
}

void add_with_rate(Iwrr& policy, std::uint64_t slot, double units_per_s) {
    policy.add({slot}, {});
    policy.rate_changed({slot}, units_per_s, {});
}

TEST(Iwrr, SharesAreProportionalToRates) {
    Iwrr policy(kInSlotOrder);
    add_with_rate(policy, 1, 40);
    add_with_rate(policy, 2, 20);
    add_with_rate(policy, 3, 10);
    const auto counts = count_picks(policy, 700);
    EXPECT_NEAR(counts.at({1}), 400, 1);
    EXPECT_NEAR(counts.at({2}), 200, 1);
    EXPECT_NEAR(counts.at({3}), 100, 1);
}

TEST(Iwrr, InterleavesInsteadOfSendingBursts) {
    Iwrr policy(kInSlotOrder);
    add_with_rate(policy, 1, 2);
    add_with_rate(policy, 2, 1);
    count_picks(policy, 3);
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(count_picks(policy, 3).at({2}), 1) << i;
    }
}

TEST(Iwrr, ChargesAtDispatchWithoutWaitingForAResult) {
    Iwrr policy(kInSlotOrder);
    add_with_rate(policy, 1, 1);
    add_with_rate(policy, 2, 1);
    EXPECT_EQ(policy.pick(kOneUnit, {}), SlotId{1});
    EXPECT_EQ(policy.pick(kOneUnit, {}), SlotId{2});
}

TEST(Iwrr, ANewPeerStartsAtTheLowestPriorityAndIsNotFlooded) {
    Iwrr policy(kInSlotOrder);
    add_with_rate(policy, 1, 10);
    add_with_rate(policy, 2, 10);
    count_picks(policy, 1000);
    policy.add({3}, {});
    const auto counts = count_picks(policy, 30);
    EXPECT_NEAR(counts.at({3}), 10, 1);
}

TEST(Iwrr, APeerThatComesBackDoesNotCatchUp) {
    Iwrr policy(kInSlotOrder);
    add_with_rate(policy, 1, 10);
    add_with_rate(policy, 2, 10);
    policy.set_open({2}, false, {});
    count_picks(policy, 1000);
    policy.set_open({2}, true, {});
    EXPECT_NEAR(count_picks(policy, 30).at({2}), 15, 1);
}

TEST(Iwrr, StartsAtTheLastPriorityAlsoWhenNoOtherPeerIsOpen) {
    Iwrr policy(kInSlotOrder);
    add_with_rate(policy, 1, 10);
    count_picks(policy, 1000);
    policy.set_open({1}, false, {});
    add_with_rate(policy, 2, 10);
    policy.set_open({1}, true, {});
    EXPECT_NEAR(count_picks(policy, 30).at({1}), 15, 1);
}

TEST(Iwrr, UndoTakesTheChargeBack) {
    Iwrr policy(kInSlotOrder);
    add_with_rate(policy, 1, 1);
    add_with_rate(policy, 2, 1);
    ASSERT_EQ(policy.pick(kOneUnit, {}), SlotId{1});
    policy.undo({1}, kOneUnit, {});
    EXPECT_EQ(policy.pick(kOneUnit, {}), SlotId{1});
}

/// A forward has hundreds of units: if each unit were charged as a second, a peer that was picked
/// before the first answer would not be picked again.
TEST(Iwrr, PicksBeforeTheFirstMeasurementCountAsManySecondsAsLaterOnes) {
    constexpr Request kForward{.work_units = 1024};
    Iwrr policy(kInSlotOrder);
    for (const std::uint64_t slot : {1, 2, 3}) {
        policy.add({slot}, {});
    }
    ASSERT_EQ(policy.pick(kForward, {}), SlotId{1});
    ASSERT_EQ(policy.pick(kForward, {}), SlotId{2});
    policy.rate_changed({1}, 1024 / 0.05, {});
    std::map<SlotId, int> counts;
    for (int i = 0; i < 300; ++i) {
        ++counts[*policy.pick(kForward, {})];
    }
    for (const std::uint64_t slot : {1, 2, 3}) {
        EXPECT_NEAR(counts[{slot}], 100, 1) << slot;
    }
}

TEST(Iwrr, TheLastKnownRateHoldsWhenAllMeasuredPeersAreGone) {
    Iwrr policy(kInSlotOrder);
    add_with_rate(policy, 1, 1000);
    count_picks(policy, 1000);
    policy.remove({1});
    policy.add({2}, {});
    policy.add({3}, {});
    ASSERT_EQ(policy.pick(kOneUnit, {}), SlotId{2});
    policy.rate_changed({2}, 1000, {});
    EXPECT_NEAR(count_picks(policy, 100).at({2}), 50, 1);
}

TEST(Iwrr, RemovingPeersFromTheMiddleKeepsTheOrder) {
    Iwrr policy(kInSlotOrder);
    for (std::uint64_t i = 1; i <= 50; ++i) {
        add_with_rate(policy, i, static_cast<double>(i));
    }
    count_picks(policy, 500);
    for (std::uint64_t i = 2; i <= 50; i += 2) {
        policy.remove({i});
    }
    const auto counts = count_picks(policy, 6250);  // the odd rates add up to 625
    ASSERT_EQ(counts.size(), 25U);
    for (const auto& [slot, count] : counts) {
        EXPECT_NEAR(count, 10 * static_cast<double>(slot.value), 3) << slot.value;
    }
}

}  // namespace
}  // namespace router
