#include "router/shortest_queue.hpp"

#include "tests/unit/router/in_slot_order.hpp"

#include <gtest/gtest.h>

namespace router {
namespace {

void add_peers(ShortestQueue& policy, std::uint64_t count) {
    for (std::uint64_t i = 1; i <= count; ++i) {
        policy.add({i}, {});
    }
}

TEST(ShortestQueue, PicksThePeerWithTheLeastUnderWay) {
    ShortestQueue policy(kInSlotOrder);
    add_peers(policy, 3);
    for (int i = 0; i < 6; ++i) {
        policy.pick({}, {});  // two each
    }
    policy.finished({2}, {}, {});
    policy.finished({2}, {}, {});
    policy.finished({3}, {}, {});
    EXPECT_EQ(policy.pick({}, {}), SlotId{2});
    EXPECT_EQ(policy.pick({}, {}), SlotId{3}) << "one each, and 3 was picked before 2";
    EXPECT_EQ(policy.pick({}, {}), SlotId{2});
}

TEST(ShortestQueue, TakesTurnsAmongEquals) {
    ShortestQueue policy(kInSlotOrder);
    add_peers(policy, 3);
    for (std::uint64_t i = 0; i < 9; ++i) {
        const SlotId slot = *policy.pick({}, {});
        EXPECT_EQ(slot, SlotId{1 + i % 3});
        policy.finished(slot, {}, {});
    }
}

TEST(ShortestQueue, UndoTakesTheChargeBack) {
    ShortestQueue policy(kInSlotOrder);
    add_peers(policy, 2);
    ASSERT_EQ(policy.pick({}, {}), SlotId{1});
    ASSERT_EQ(policy.pick({}, {}), SlotId{2});
    policy.undo({2}, {}, {});
    EXPECT_EQ(policy.pick({}, {}), SlotId{2});
}

TEST(ShortestQueue, LooksNeitherAtSpeedNorAtSize) {
    ShortestQueue told(kInSlotOrder);
    ShortestQueue untold(kInSlotOrder);
    add_peers(told, 4);
    add_peers(untold, 4);
    for (std::uint64_t i = 0; i < 100; ++i) {
        told.rate_changed({1 + i % 4}, static_cast<double>(i * i), {});
        const Request large{.work_units = static_cast<double>(i), .bytes = 1e9};
        EXPECT_EQ(told.pick(large, {}), untold.pick({}, {}));
    }
}

TEST(ShortestQueue, KeepsTheQueueOfAPeerThatIsClosedForAWhile) {
    ShortestQueue policy(kInSlotOrder);
    add_peers(policy, 2);
    policy.pick({}, {});
    policy.set_open({1}, false, {});
    ASSERT_EQ(policy.pick({}, {}), SlotId{2});
    policy.finished({2}, {}, {});
    policy.set_open({1}, true, {});
    EXPECT_EQ(policy.pick({}, {}), SlotId{2});
}

TEST(ShortestQueue, CountsWorkThatEndsWhileThePeerIsClosed) {
    ShortestQueue policy(kInSlotOrder);
    add_peers(policy, 2);
    policy.pick({}, {});
    policy.pick({}, {});
    policy.set_open({1}, false, {});
    policy.finished({1}, {}, {});
    policy.set_open({1}, true, {});
    EXPECT_EQ(policy.pick({}, {}), SlotId{1});
}

}  // namespace
}  // namespace router
