// What every registered rebalancer must do; the lists come from the registry.
#include "router/rebalancer.hpp"

#include "swarm/base/rng.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

namespace router {
namespace {

std::vector<std::string> every_rebalancer() {
    std::vector<std::string> names;
    std::istringstream list(rebalancer_names());
    for (std::string name; std::getline(list >> std::ws, name, ',');) {
        names.push_back(name);
    }
    return names;
}

StageLoads random_loads(swarm::Rng& rng) {
    StageLoads loads(1 + rng.below(6));
    std::uint64_t slot = 0;
    for (auto& stage : loads) {
        for (std::uint64_t i = rng.below(5); i > 0; --i) {
            stage.push_back({{++slot}, static_cast<double>(rng.below(4)), rng.unit()});
        }
    }
    return loads;
}

class RebalancerConformance : public testing::TestWithParam<std::string> {
 protected:
    std::unique_ptr<Rebalancer> rebalancer_ = make_rebalancer(GetParam());
};

TEST_P(RebalancerConformance, MovesAMemberToAnotherStageAndNeverTheLastOne) {
    swarm::Rng rng(1, 3);
    for (int i = 0; i < 20'000; ++i) {
        const StageLoads loads = random_loads(rng);
        const auto move = rebalancer_->rebalance(loads, {});
        if (!move) {
            continue;
        }
        ASSERT_NE(move->from, move->to);
        ASSERT_LT(move->to.value, loads.size());
        const auto& stage = loads.at(move->from.value);
        ASSERT_GT(stage.size(), 1U);
        ASSERT_TRUE(std::any_of(stage.begin(), stage.end(), [&](const PeerLoad& peer) {
            return peer.slot == move->slot;
        }));
    }
}

TEST_P(RebalancerConformance, PlacesANewcomerAtAStageWithoutPeersFirst) {
    const StageLoads loads{{{{1}, 9, 1}}, {}, {{{2}, 0, 1}}};
    EXPECT_EQ(rebalancer_->place(loads), StageIndex{1});
}

TEST_P(RebalancerConformance, SpreadsTheFirstPeersEvenly) {
    StageLoads loads(3);
    for (std::uint64_t slot = 1; slot <= 9; ++slot) {
        loads[rebalancer_->place(loads).value].push_back({{slot}});
    }
    for (const auto& stage : loads) {
        EXPECT_EQ(stage.size(), 3U);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Registered,
    RebalancerConformance,
    testing::ValuesIn(every_rebalancer()),
    [](const testing::TestParamInfo<std::string>& rebalancer) {
        std::string name = rebalancer.param;
        std::replace(name.begin(), name.end(), '-', '_');
        return name;
    }
);

TEST(RebalancerRegistry, NamesEveryRebalancerForErrorTexts) {
    EXPECT_EQ(rebalancer_names(), "none, swarm-alg2");
}

TEST(RebalancerRegistry, KnowsNoRebalancerNobodyRegistered) {
    EXPECT_EQ(make_rebalancer("always"), nullptr);
    EXPECT_EQ(make_rebalancer(""), nullptr);
}

TEST(NoRebalancing, MovesNobodyHoweverUnequalTheStages) {
    const auto none = make_rebalancer("none");
    EXPECT_EQ(none->rebalance({{{{1}, 99, 1}}, {{{2}, 0, 1}, {{3}, 0, 1}}}, {}), std::nullopt);
}

TEST(NoRebalancing, PlacesByPeersNotByQueues) {
    const auto none = make_rebalancer("none");
    EXPECT_EQ(none->place({{{{1}, 99, 1}, {{2}, 99, 1}}, {{{3}, 0, 1}}}), StageIndex{1});
}

}  // namespace
}  // namespace router
