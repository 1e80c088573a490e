// The duties of every registered rebalancer; the lists come from the registry.
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
    for (StageLoad& stage : loads) {
        stage.units_per_microbatch = 0.5 + rng.unit();
        stage.join_s = 100 * rng.unit();
        for (std::uint64_t i = rng.below(5); i > 0; --i) {
            const double units_per_s = rng.chance(1, 4) ? 0 : rng.unit();
            PeerLoad peer{{++slot}, static_cast<double>(rng.below(4)), units_per_s};
            peer.is_arriving = rng.chance(1, 4);
            peer.is_leased = rng.chance(1, 4);
            stage.peers.push_back(peer);
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
        for (const Move& move : rebalancer_->rebalance(loads, {})) {
            ASSERT_NE(move.from, move.to);
            ASSERT_LT(move.to.value, loads.size());
            const std::vector<PeerLoad>& stage = loads.at(move.from.value).peers;
            ASSERT_GT(std::ranges::count(stage, false, &PeerLoad::is_arriving), 1);
            ASSERT_TRUE(std::any_of(stage.begin(), stage.end(), [&](const PeerLoad& peer) {
                return peer.slot == move.slot && !peer.is_arriving;
            }));
        }
    }
}

TEST_P(RebalancerConformance, TakesOnePeerOutOfAStageAtMost) {
    swarm::Rng rng(2, 3);
    for (int i = 0; i < 20'000; ++i) {
        const StageLoads loads = random_loads(rng);
        std::vector<int> taken(loads.size(), 0);
        for (const Move& move : rebalancer_->rebalance(loads, {})) {
            ASSERT_EQ(++taken[move.from.value], 1);
        }
    }
}

TEST_P(RebalancerConformance, PlacesANewcomerAtAStageWithoutPeersFirst) {
    const StageLoads loads{{{{1}, 9, 1}}, {}, {{{2}, 0, 1}}};
    EXPECT_EQ(rebalancer_->place(loads), StageIndex{1});
}

TEST_P(RebalancerConformance, SpreadsTheFirstPeersEvenly) {
    StageLoads loads(3);
    for (std::uint64_t slot = 1; slot <= 9; ++slot) {
        loads[rebalancer_->place(loads).value].peers.push_back({{slot}});
    }
    for (const StageLoad& stage : loads) {
        EXPECT_EQ(stage.peers.size(), 3U);
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
    EXPECT_EQ(rebalancer_names(), "none, capacity, swarm-alg2");
}

TEST(RebalancerRegistry, KnowsNoRebalancerThatIsNotRegistered) {
    EXPECT_EQ(make_rebalancer("always"), nullptr);
    EXPECT_EQ(make_rebalancer(""), nullptr);
}

TEST(NoRebalancing, MovesNoPeerHoweverUnequalTheStages) {
    const auto none = make_rebalancer("none");
    EXPECT_EQ(
        none->rebalance({{{{1}, 99, 1}}, {{{2}, 0, 1}, {{3}, 0, 1}}}, {}), std::vector<Move>{}
    );
}

TEST(NoRebalancing, PlacesByPeersNotByQueues) {
    const auto none = make_rebalancer("none");
    EXPECT_EQ(none->place({{{{1}, 99, 1}, {{2}, 99, 1}}, {{{3}, 0, 1}}}), StageIndex{1});
}

}  // namespace
}  // namespace router
