#include "swarm/run/roster.hpp"

#include <gtest/gtest.h>

namespace swarm::run {
namespace {

using protocol::Standing;
using Slots = std::vector<SlotId>;

protocol::SlotInfo info(
    std::uint64_t peer, std::uint32_t stage, Standing standing = Standing::Member
) {
    protocol::SlotInfo slot;
    slot.peer = {{peer}};
    slot.stage = {stage};
    slot.standing = standing;
    return slot;
}

TEST(Roster, GivesSlotsThatNoOtherCoordinatorIncarnationGives) {
    Roster first(1, 1);
    Roster second(1, 2);
    EXPECT_EQ(first.add(info(1, 0)).value, (1ULL << 32) + 1);
    EXPECT_EQ(second.add(info(1, 0)).value, (2ULL << 32) + 1);
}

TEST(Roster, NeverGivesASlotAgain) {
    Roster roster(1);
    const SlotId before = roster.add(info(1, 0));
    roster.remove(before);
    EXPECT_NE(roster.add(info(1, 0)), before);
    EXPECT_EQ(roster.find(before), nullptr);
}

TEST(Roster, ListsByStageAndStanding) {
    Roster roster(2);
    const SlotId member = roster.add(info(1, 0));
    const SlotId suspect = roster.add(info(2, 0, Standing::Suspect));
    const SlotId draining = roster.add(info(3, 0, Standing::Draining));
    const SlotId observer = roster.add(info(4, 0, Standing::Observer));
    const SlotId above = roster.add(info(5, 1));
    EXPECT_EQ(roster.members({0}), (Slots{member, suspect, draining}));
    EXPECT_EQ(roster.pickable({0}), (Slots{member}));
    EXPECT_EQ(roster.observers({0}), (Slots{observer}));
    EXPECT_EQ(roster.all_members(), (Slots{member, suspect, draining, above}));
    EXPECT_EQ(roster.peers_per_stage(), (std::vector<std::uint32_t>{3, 1}));
}

TEST(Roster, OffersWorkToADrainingMemberOnlyWhereItIsTheLast) {
    Roster roster(1);
    const SlotId draining = roster.add(info(1, 0, Standing::Draining));
    roster.add(info(2, 0, Standing::Suspect));
    EXPECT_EQ(roster.pickable({0}), (Slots{draining}));
}

TEST(Roster, CountsEveryChangeAndNothingElse) {
    Roster roster(1);
    const SlotId slot = roster.add(info(1, 0));
    EXPECT_EQ(roster.number(), 1U);
    roster.set_standing(slot, Standing::Suspect);
    EXPECT_EQ(roster.number(), 2U);
    roster.set_standing(slot, Standing::Suspect);
    roster.set_standing({99}, Standing::Suspect);
    roster.remove({99});
    EXPECT_EQ(roster.number(), 2U);
    roster.remove(slot);
    EXPECT_EQ(roster.number(), 3U);
}

TEST(Roster, IsTheSameAtAPeerThatWasSentIt) {
    Roster roster(2, 3);
    roster.add(info(1, 0));
    roster.add(info(2, 1, Standing::Draining));
    Roster copy(2);
    EXPECT_TRUE(copy.replace(roster.message()));
    EXPECT_EQ(copy.message(), roster.message());
    EXPECT_EQ(copy.find_peer({{2}})->standing, Standing::Draining);
}

TEST(Roster, IgnoresARosterThatIsNotNewer) {
    Roster roster(1);
    EXPECT_TRUE(roster.replace({5, {info(1, 0)}}));
    EXPECT_FALSE(roster.replace({5, {}}));
    EXPECT_FALSE(roster.replace({4, {}}));
    EXPECT_NE(roster.find_peer({{1}}), nullptr);
}

TEST(Roster, ForgetsSlotsThatANewerRosterDoesNotList) {
    Roster roster(1);
    roster.replace({1, {info(1, 0)}});
    roster.replace({2, {}});
    EXPECT_EQ(roster.find_peer({{1}}), nullptr);
    EXPECT_TRUE(roster.slots().empty());
}

TEST(Roster, CountsNoStageThatTheRunDoesNotHave) {
    Roster roster(2);
    roster.replace({1, {info(1, 40)}});
    EXPECT_EQ(roster.peers_per_stage(), (std::vector<std::uint32_t>{0, 0}));
}

}  // namespace
}  // namespace swarm::run
