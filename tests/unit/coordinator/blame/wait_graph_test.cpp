#include "swarm/coordinator/blame/wait_graph.hpp"

#include <gtest/gtest.h>

#include <set>

namespace swarm::coordinator {
namespace {

using protocol::Owed;

class WaitGraphTest : public testing::Test {
 protected:
    void says(std::uint32_t who, Owed owed, std::set<SlotId> slots) {
        graph_.says(SlotId{who}, {owed, std::move(slots)});
    }

    [[nodiscard]] std::uint64_t blamed() const {
        const auto slot = graph_.blamed(
            [this](SlotId one) { return !gone_.contains(one); },
            [this](SlotId one) { return done_.contains(one); }
        );
        return slot ? slot->value : 0;
    }

    WaitGraph graph_;
    std::set<SlotId> gone_;
    std::set<SlotId> done_;
};

TEST_F(WaitGraphTest, BlamesNobodyWhereNobodyWaits) {
    EXPECT_EQ(blamed(), 0U);
    says(1, Owed::Sums, {});
    EXPECT_EQ(blamed(), 0U);
}

TEST_F(WaitGraphTest, BlamesTheEndOfAChain) {
    says(1, Owed::Values, {{2}});
    says(3, Owed::Values, {{2}});
    says(2, Owed::Sums, {{4}});
    says(4, Owed::Gradients, {{5}});
    says(5, Owed::Gradients, {{6}});
    EXPECT_EQ(blamed(), 6U);
}

TEST_F(WaitGraphTest, WhoeverLacksSumsOwesNoValues) {
    says(1, Owed::Sums, {{2}});
    says(2, Owed::Values, {{1}, {3}});  // it has the sums of all, and gave its own to nobody
    says(3, Owed::Sums, {{2}});
    EXPECT_EQ(blamed(), 2U);
}

TEST_F(WaitGraphTest, WhoeverLacksSumsOwesTheTiedStageNothing) {
    for (const std::uint32_t who : {7, 8, 9}) {
        says(who, Owed::TiedSums, {{1}});
    }
    says(1, Owed::Sums, {{2}});
    EXPECT_EQ(blamed(), 2U);
}

TEST_F(WaitGraphTest, WaitingForValuesIsNoExcuseForSums) {
    says(1, Owed::Sums, {{2}});
    says(2, Owed::Values, {{3}});
    says(4, Owed::Values, {{3}});
    says(3, Owed::Sums, {{2}});
    EXPECT_EQ(blamed(), 2U);
}

TEST_F(WaitGraphTest, OneLiarDoesNotOutweighThoseThatWaitForIt) {
    says(1, Owed::Sums, {{2}});
    says(3, Owed::Sums, {{2}});
    says(2, Owed::Sums, {{1}, {3}});
    EXPECT_EQ(blamed(), 2U);
}

TEST_F(WaitGraphTest, OfTwoThatWaitForEachOtherItBlamesTheOneThatWasNamedFirst) {
    says(2, Owed::Sums, {{1}});
    says(1, Owed::Sums, {{2}});
    EXPECT_EQ(blamed(), 1U);
}

TEST_F(WaitGraphTest, CountsOneVotePerVoter) {
    for (int i = 0; i < 5; ++i) {
        says(1, Owed::Sums, {{5}});
    }
    says(2, Owed::Sums, {{6}});
    says(3, Owed::Sums, {{6}});
    EXPECT_EQ(blamed(), 6U);
}

TEST_F(WaitGraphTest, WaitingForOneThatHasItsResultIsNoExcuse) {
    done_ = {{3}};
    says(1, Owed::Values, {{2}});
    says(4, Owed::Values, {{2}});
    says(2, Owed::Sums, {{3}});
    EXPECT_EQ(blamed(), 2U);
}

TEST_F(WaitGraphTest, AMemberWithAResultStillPassesGradientsDown) {
    says(1, Owed::Sums, {{2}});
    says(3, Owed::Sums, {{2}});
    done_ = {{4}, {5}};
    says(2, Owed::Gradients, {{4}});
    says(4, Owed::Gradients, {{5}});
    EXPECT_EQ(blamed(), 5U);
}

TEST_F(WaitGraphTest, CountsWhatAMemberSaidLast) {
    says(1, Owed::Sums, {{2}});
    says(1, Owed::Values, {{3}});
    EXPECT_EQ(blamed(), 3U);
    graph_.is_done({1});
    EXPECT_EQ(blamed(), 0U);
}

TEST_F(WaitGraphTest, ASlotThatIsGoneIsNeitherBlamedNorAnExcuse) {
    gone_ = {{4}};
    says(1, Owed::Values, {{2}, {4}});
    says(2, Owed::Sums, {{4}});
    EXPECT_EQ(blamed(), 2U);
}

}  // namespace
}  // namespace swarm::coordinator
