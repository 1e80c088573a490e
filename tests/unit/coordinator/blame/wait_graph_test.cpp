#include "swarm/coordinator/blame/wait_graph.hpp"

#include <gtest/gtest.h>

#include <set>

namespace swarm::coordinator {
namespace {

class WaitGraphTest : public testing::Test {
 protected:
    void says(std::uint32_t who, std::set<SlotId> own, std::set<SlotId> tied = {}) {
        graph_.says(SlotId{who}, {std::move(own), std::move(tied)});
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
    says(1, {});
    EXPECT_EQ(blamed(), 0U);
}

TEST_F(WaitGraphTest, BlamesTheEndOfAChain) {
    says(1, {{2}});
    says(3, {{2}});
    says(2, {{4}});
    EXPECT_EQ(blamed(), 4U);
}

TEST_F(WaitGraphTest, OfTwoThatWaitForEachOtherItBlamesTheOneThatOthersNeedLess) {
    says(1, {{2}});  // gets no sums from it
    says(2, {{1}});  // gets no values, like all others
    says(3, {{1}});
    EXPECT_EQ(blamed(), 2U);
}

TEST_F(WaitGraphTest, CountsOneVotePerVoter) {
    for (int i = 0; i < 5; ++i) {
        says(1, {{5}});
    }
    says(2, {{6}});
    says(3, {{6}});
    EXPECT_EQ(blamed(), 6U);
}

TEST_F(WaitGraphTest, WaitingForOneThatHasItsResultIsNoExcuse) {
    done_ = {{3}};
    says(1, {{2}});
    says(4, {{2}});
    says(2, {{3}});
    EXPECT_EQ(blamed(), 2U);
}

TEST_F(WaitGraphTest, CountsWhatAMemberSaidLast) {
    says(1, {{2}});
    says(1, {{3}});
    EXPECT_EQ(blamed(), 3U);
    graph_.is_done({1});
    EXPECT_EQ(blamed(), 0U);
}

TEST_F(WaitGraphTest, TheOtherStageCountsBetweenEqualsAlone) {
    says(1, {{5}});
    says(2, {{6}});
    says(7, {}, {{6}});
    EXPECT_EQ(blamed(), 6U);
    says(3, {{5}});
    says(8, {}, {{6}});
    EXPECT_EQ(blamed(), 5U);
}

TEST_F(WaitGraphTest, ACircleEndsWithTheOneMostWaitFor) {
    says(1, {{2}});
    says(2, {{3}});
    says(3, {{1}});
    says(4, {{1}});
    EXPECT_EQ(blamed(), 1U);
}

TEST_F(WaitGraphTest, ASlotThatIsGoneIsNeitherBlamedNorAnExcuse) {
    gone_ = {{4}};
    says(1, {{2}, {4}});
    says(2, {{4}});
    EXPECT_EQ(blamed(), 2U);
}

}  // namespace
}  // namespace swarm::coordinator
