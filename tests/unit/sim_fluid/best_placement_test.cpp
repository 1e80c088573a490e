#include "sim/fluid/best_placement.hpp"

#include "swarm/base/rng.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace sim {
namespace {

void add(BestPlacement& best, double per_s, int count) {
    for (int i = 0; i < count; ++i) {
        best.add({per_s, per_s});
    }
}

TEST(BestPlacement, OfEqualPeersIsAnEqualNumberPerStage) {
    BestPlacement best(4);
    add(best, 2, 31);
    EXPECT_DOUBLE_EQ(best.narrowest(), 7 * 2);
}

TEST(BestPlacement, WithoutAPeerForEachStageIsNothing) {
    BestPlacement best(3);
    add(best, 5, 2);
    EXPECT_EQ(best.narrowest(), 0);
}

TEST(BestPlacement, BalancesUnequalPeers) {
    BestPlacement best(2);
    add(best, 4, 1);
    add(best, 1, 4);
    EXPECT_DOUBLE_EQ(best.narrowest(), 4);
}

TEST(BestPlacement, FollowsPeersThatComeAndGo) {
    BestPlacement best(2);
    add(best, 1, 4);
    EXPECT_DOUBLE_EQ(best.narrowest(), 2);
    best.remove({1, 1});
    EXPECT_DOUBLE_EQ(best.narrowest(), 1);
}

TEST(BestPlacement, CountsAPeerByTheStageItIsIn) {
    BestPlacement best(3);
    for (int i = 0; i < 4; ++i) {
        best.add({1, 2});  // the middle stage needs two of them
    }
    EXPECT_DOUBLE_EQ(best.narrowest(), 2);
}

// Rounds of equal peers at once must give the same result as one peer after the other.
TEST(BestPlacement, EqualsTheRuleCarriedOutPeerByPeer) {
    swarm::Rng rng(4, 9);
    for (int i = 0; i < 300; ++i) {
        const std::uint32_t stages = 1 + static_cast<std::uint32_t>(rng.below(6));
        std::vector<double> rates(rng.below(60));
        for (double& rate : rates) {
            rate = static_cast<double>(1 + rng.below(5));
        }
        BestPlacement best(stages);
        for (const double rate : rates) {
            best.add({rate, rate});
        }
        std::sort(rates.rbegin(), rates.rend());
        std::vector<double> loads(stages, 0);
        for (const double rate : rates) {
            *std::min_element(loads.begin(), loads.end()) += rate;
        }
        ASSERT_DOUBLE_EQ(best.narrowest(), *std::min_element(loads.begin(), loads.end())) << i;
    }
}

}  // namespace
}  // namespace sim
