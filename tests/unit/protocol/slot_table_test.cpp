#include "swarm/protocol/slot_table.hpp"

#include "swarm/base/rng.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace swarm::protocol {
namespace {

SlotInfo info(std::uint64_t slot, std::uint64_t peer, std::uint32_t stage) {
    SlotInfo made;
    made.slot = {slot};
    made.peer = {{peer}};
    made.stage = {stage};
    return made;
}

/// Checks all answers of a table, by each way of asking.
void expect_holds(const SlotTable& table, const std::map<SlotId, SlotInfo>& want) {
    ASSERT_EQ(table.size(), want.size());
    std::size_t observers = 0;
    std::map<StageIndex, std::vector<SlotId>> stages{{{0}, {}}, {{1}, {}}, {{2}, {}}};
    auto entry = table.begin();
    for (const auto& [slot, info] : want) {
        ASSERT_EQ(*entry++, info);
        ASSERT_EQ(*table.find(slot), info);
        ASSERT_EQ(*table.find_peer(info.peer), info);
        stages[info.stage].push_back(slot);
        observers += info.standing == Standing::Observer ? 1 : 0;
    }
    ASSERT_EQ(table.observers(), observers);
    for (const auto& [stage, slots] : stages) {
        ASSERT_TRUE(std::ranges::equal(table.of_stage(stage), slots));
    }
}

TEST(SlotTable, HoldsTheSlotsThatWereAddedAndChanged) {
    Rng rng(7, 0);
    SlotTable table;
    std::map<SlotId, SlotInfo> want;
    for (std::uint64_t turn = 1; turn <= 400; ++turn) {
        const SlotTable shared = rng.below(2) == 0 ? table : SlotTable();
        const std::map<SlotId, SlotInfo> before = want;
        const auto any = std::next(want.begin(), static_cast<long>(rng.below(want.size() + 1)));
        if (want.size() < 4 || (any == want.end() && want.size() < 12)) {
            const SlotInfo made =
                info(turn, turn * 77 % 401, static_cast<std::uint32_t>(rng.below(3)));
            table.add(made);
            want[made.slot] = made;
        } else if (any != want.end() && rng.below(2) == 0) {
            any->second.standing = static_cast<Standing>(rng.below(4));
            table.set_standing(any->first, any->second.standing);
        } else if (any != want.end()) {
            table.remove(any->first);
            want.erase(any);
        }
        expect_holds(table, want);
        if (!shared.empty()) {
            expect_holds(shared, before);  // a copy keeps its slots
        }
        std::vector<SlotInfo> anew(table.begin(), table.end());
        std::ranges::reverse(anew);
        expect_holds(SlotTable(std::move(anew)), want);
    }
}

TEST(SlotTable, FindsNoSlotThatItDoesNotHold) {
    const SlotTable table{info(3, 30, 0), info(5, 50, 2)};
    for (const std::uint64_t slot : {0, 4, 6}) {
        EXPECT_EQ(table.find({slot}), nullptr);
        EXPECT_EQ(table.find_peer({{slot * 10}}), nullptr);
    }
    EXPECT_TRUE(table.of_stage({1}).empty());
    EXPECT_EQ(SlotTable().find({3}), nullptr);
    EXPECT_EQ(SlotTable().find_peer({{30}}), nullptr);
}

TEST(SlotTable, KeepsTheLastEntryOfASlotThatIsNamedTwice) {
    const SlotTable table{info(5, 1, 0), info(4, 3, 1), info(5, 2, 1)};
    EXPECT_EQ(table.size(), 2U);
    EXPECT_EQ(table.find_peer({{1}}), nullptr);
    EXPECT_EQ(table.find({5})->peer, (PeerId{{2}}));
    EXPECT_TRUE(table.of_stage({0}).empty());
}

TEST(SlotTable, FindsTheNewerOfTwoSlotsOfAPeer) {
    const SlotTable table{info(9, 1, 0), info(5, 1, 1), info(7, 2, 1)};
    EXPECT_EQ(table.find_peer({{1}})->slot, SlotId{9});
    EXPECT_EQ(table.size(), 3U);
}

TEST(SlotTable, EqualsATableWithTheSameSlots) {
    SlotTable table{info(3, 30, 0), info(5, 50, 2)};
    const SlotTable copy = table;
    table.set_standing({3}, Standing::Suspect);
    EXPECT_FALSE(table == copy);
    table.set_standing({3}, Standing::Member);
    EXPECT_TRUE(table == copy);
}

}  // namespace
}  // namespace swarm::protocol
