#include "router/swarm_alg2.hpp"

#include <gtest/gtest.h>

namespace router {
namespace {

PeerLoad load(std::uint64_t slot, double queued, double units_per_s = 1) {
    return {{slot}, queued, units_per_s};
}

std::vector<Move> move(std::uint64_t slot, std::uint32_t from, std::uint32_t to) {
    return {{{slot}, {from}, {to}}};
}

TEST(SwarmAlg2, MovesFromTheShortestQueuesToTheLongest) {
    SwarmAlg2 rebalancer;
    const StageLoads loads{
        {load(1, 2), load(2, 2)}, {load(3, 1), load(4, 1)}, {load(5, 3), load(6, 4)}};
    EXPECT_EQ(rebalancer.rebalance(loads, {}), move(3, 1, 2));
}

TEST(SwarmAlg2, ComparesTheSumsOfAStageNotItsMeans) {
    SwarmAlg2 rebalancer;
    const StageLoads loads{
        {load(1, 3), load(2, 0)}, {load(3, 1), load(4, 1), load(5, 1), load(6, 1)}};
    EXPECT_EQ(rebalancer.rebalance(loads, {}), move(2, 0, 1));
}

TEST(SwarmAlg2, MovesThePeerWithTheShortestQueueOfItsStage) {
    SwarmAlg2 rebalancer;
    const StageLoads loads{{load(1, 2), load(2, 1), load(3, 2)}, {load(4, 9)}};
    EXPECT_EQ(rebalancer.rebalance(loads, {}), move(2, 0, 1));
}

TEST(SwarmAlg2, MovesAPeerThatHasTheMemoryWhereItGoes) {
    SwarmAlg2 rebalancer;
    StageLoads loads{{load(1, 2), load(2, 1), load(3, 2)}, {load(4, 9)}};
    loads[1].needs_bytes = 100;
    loads[0].peers[1].lends_bytes = 99;
    EXPECT_EQ(rebalancer.rebalance(loads, {}), move(1, 0, 1));
    loads[0].peers[0].lends_bytes = 99;
    loads[0].peers[2].lends_bytes = 99;
    EXPECT_EQ(rebalancer.rebalance(loads, {}), std::vector<Move>{});
}

TEST(SwarmAlg2, LeavesEqualQueuesAlone) {
    SwarmAlg2 rebalancer;
    EXPECT_EQ(
        rebalancer.rebalance({{load(1, 1), load(2, 1)}, {load(3, 2)}, {load(4, 2)}}, {}),
        std::vector<Move>{}
    );
}

TEST(SwarmAlg2, NeverTakesTheLastPeerOfAStage) {
    SwarmAlg2 rebalancer;
    EXPECT_EQ(rebalancer.rebalance({{load(1, 0)}, {load(2, 9)}}, {}), std::vector<Move>{});
    EXPECT_EQ(
        rebalancer.rebalance({{load(1, 0)}, {load(2, 1), load(3, 1)}, {load(4, 9)}}, {}),
        move(2, 1, 2)
    );
}

TEST(SwarmAlg2, OfEmptyQueuesTheFasterStageGives) {
    SwarmAlg2 rebalancer;
    const StageLoads loads{
        {load(1, 0, 1), load(2, 0, 1)}, {load(3, 0, 2), load(4, 0, 2)}, {load(5, 5, 1)}};
    EXPECT_EQ(rebalancer.rebalance(loads, {}), move(3, 1, 2));
}

TEST(SwarmAlg2, OtherTiesGoToTheLowerStageAndSlot) {
    SwarmAlg2 rebalancer;
    const StageLoads loads{
        {load(1, 4)}, {load(2, 4)}, {load(3, 0), load(4, 0)}, {load(5, 0), load(6, 0)}};
    EXPECT_EQ(rebalancer.rebalance(loads, {}), move(3, 2, 0));
}

TEST(SwarmAlg2, AStageWithoutPeersComesFirst) {
    SwarmAlg2 rebalancer;
    EXPECT_EQ(
        rebalancer.rebalance({{load(1, 9)}, {}, {load(2, 1), load(3, 2)}}, {}), move(2, 2, 1)
    );
}

TEST(SwarmAlg2, PlacesANewcomerWhereTheQueuesAreLongest) {
    const SwarmAlg2 rebalancer;
    EXPECT_EQ(
        rebalancer.place({{load(1, 1)}, {load(2, 3), load(3, 3)}, {load(4, 5)}}), StageIndex{1}
    );
}

TEST(SwarmAlg2, PlacesANewcomerWithTheFewestPeersWhereQueuesAreEqual) {
    const SwarmAlg2 rebalancer;
    EXPECT_EQ(
        rebalancer.place({{load(1, 0), load(2, 0)}, {load(3, 0)}, {load(4, 0)}}), StageIndex{1}
    );
}

PeerLoad arriving(std::uint64_t slot) {
    return {{slot}, 0, 0, true};
}

TEST(SwarmAlg2, AnArrivingPeerIsNeitherMovedNorCountedAsLeftBehind) {
    SwarmAlg2 rebalancer;
    const StageLoads loads{{load(1, 2), arriving(2)}, {load(3, 9)}};
    EXPECT_EQ(rebalancer.rebalance(loads, {}), std::vector<Move>{});
}

TEST(SwarmAlg2, OneNewcomerAtATimeGoesWhereTheQueueIs) {
    const SwarmAlg2 rebalancer;
    const StageLoads loads{{load(1, 0), load(2, 0)}, {load(3, 9), arriving(4)}, {load(5, 0)}};
    EXPECT_EQ(rebalancer.place(loads), StageIndex{2});
}

}  // namespace
}  // namespace router
