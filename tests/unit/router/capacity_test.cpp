#include "router/capacity.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace router {
namespace {

using Moves = std::vector<Move>;

PeerLoad peer(std::uint64_t slot, double units_per_s) {
    return {{slot}, 0, units_per_s};
}

PeerLoad arriving(std::uint64_t slot, double units_per_s) {
    return {{slot}, 0, units_per_s, true};
}

PeerLoad leased(std::uint64_t slot, double units_per_s) {
    return {{slot}, 0, units_per_s, false, true};
}

Move move(std::uint64_t slot, std::uint32_t from, std::uint32_t to) {
    return {{slot}, {from}, {to}};
}

/// `count` peers of one microbatch per second each.
StageLoad equal_peers(std::uint64_t first_slot, std::size_t count, double join_s = 0) {
    StageLoad stage;
    for (std::size_t i = 0; i < count; ++i) {
        stage.peers.push_back(peer(first_slot + i, 1));
    }
    stage.join_s = join_s;
    return stage;
}

TEST(Capacity, MovesFromTheStrongestStageToTheWeakest) {
    Capacity rebalancer;
    const StageLoads loads{equal_peers(1, 3), equal_peers(11, 1), equal_peers(21, 4)};
    EXPECT_EQ(rebalancer.rebalance(loads, {}), Moves{move(21, 2, 1)});
}

TEST(Capacity, CountsSpeedNotHeads) {
    Capacity rebalancer;
    const StageLoads loads{{peer(1, 1), peer(2, 1), peer(3, 1)}, {peer(4, 3), peer(5, 3)}};
    EXPECT_EQ(rebalancer.rebalance(loads, {}), Moves{});  // 3 and 6 would be 6 and 3
    const StageLoads other{{peer(1, 1), peer(2, 1)}, {peer(4, 4), peer(5, 2)}};
    EXPECT_EQ(rebalancer.rebalance(other, {}), Moves{move(5, 1, 0)});
}

TEST(Capacity, AStageWhoseMicrobatchesCostMoreNeedsMorePeers) {
    Capacity rebalancer;
    StageLoads loads{equal_peers(1, 3), equal_peers(11, 3)};
    EXPECT_EQ(rebalancer.rebalance(loads, {}), Moves{});
    loads[1].units_per_microbatch = 2;
    EXPECT_EQ(rebalancer.rebalance(loads, {}), Moves{move(1, 0, 1)});
}

TEST(Capacity, MovesAPeerThatHasTheMemoryWhereItGoes) {
    Capacity rebalancer;
    StageLoads loads{equal_peers(1, 3), equal_peers(11, 1)};
    loads[1].needs_bytes = 100;
    loads[0].peers[0].lends_bytes = 99;
    loads[0].peers[1].lends_bytes = 100;
    EXPECT_EQ(rebalancer.rebalance(loads, {}), Moves{move(2, 0, 1)});
    loads[0].peers[1].lends_bytes = 1;
    loads[0].peers[2].lends_bytes = 1;
    EXPECT_EQ(rebalancer.rebalance(loads, {}), Moves{});
}

TEST(Capacity, SeveralStagesGiveInOneRoundButEachOnePeer) {
    Capacity rebalancer;
    const StageLoads loads{
        equal_peers(1, 9), equal_peers(11, 9), equal_peers(21, 9), equal_peers(31, 1)};
    EXPECT_EQ(
        rebalancer.rebalance(loads, {}), (Moves{move(1, 0, 3), move(11, 1, 3), move(21, 2, 3)})
    );
}

TEST(Capacity, MovesThatHelpTogetherAloneArePlannedTogether) {
    Capacity rebalancer;
    const StageLoads loads{
        equal_peers(1, 1), equal_peers(11, 1), equal_peers(21, 3), equal_peers(31, 3)};
    EXPECT_EQ(rebalancer.rebalance(loads, {}), (Moves{move(21, 2, 0), move(31, 3, 1)}));
}

TEST(Capacity, DoesNotFillAHoleTwice) {
    Capacity rebalancer;
    StageLoads loads{equal_peers(1, 4), equal_peers(11, 2)};
    EXPECT_EQ(rebalancer.rebalance(loads, {}).size(), 1U);
    loads[1].peers.push_back(arriving(13, 1));
    EXPECT_EQ(rebalancer.rebalance(loads, {}), Moves{});
}

TEST(Capacity, AnArrivingPeerIsNoReasonToTakeTheLastMember) {
    Capacity rebalancer;
    const StageLoads loads{{peer(1, 5), arriving(2, 5)}, {peer(3, 1)}};
    EXPECT_EQ(rebalancer.rebalance(loads, {}), Moves{});
}

TEST(Capacity, APeerThatMovedLatelyStays) {
    Capacity rebalancer;
    const StageLoads loads{{leased(1, 1), leased(2, 1), peer(3, 1)}, {peer(4, 1)}};
    EXPECT_EQ(rebalancer.rebalance(loads, {}), Moves{move(3, 0, 1)});
    const StageLoads all_leased{{leased(1, 1), leased(2, 1), leased(3, 1)}, {peer(4, 1)}};
    EXPECT_EQ(rebalancer.rebalance(all_leased, {}), Moves{});
}

TEST(Capacity, AMoveMustPayWithinTheHorizon) {
    Capacity rebalancer;
    StageLoads loads{equal_peers(1, 22), equal_peers(31, 20)};  // 5 % of an hour: 180 s
    loads[1].join_s = 170;
    EXPECT_EQ(rebalancer.rebalance(loads, {}).size(), 1U);
    loads[1].join_s = 190;
    EXPECT_EQ(rebalancer.rebalance(loads, {}), Moves{});
}

TEST(Capacity, AGainThatMayBeNoiseIsNoReasonToMove) {
    Capacity rebalancer;
    EXPECT_EQ(rebalancer.rebalance({equal_peers(1, 102), equal_peers(201, 100)}, {}), Moves{});
}

TEST(Capacity, APeerThatWasNeverMeasuredCountsAsTheMean) {
    Capacity rebalancer;
    const StageLoads loads{{peer(1, 4), peer(2, 4), peer(3, 0)}, {peer(4, 4)}};
    EXPECT_EQ(rebalancer.rebalance(loads, {}), Moves{move(1, 0, 1)});
}

TEST(Capacity, ItsMovesLeadToRest) {
    Capacity rebalancer;
    StageLoads loads{equal_peers(1, 30), equal_peers(101, 2), equal_peers(201, 7)};
    std::size_t rounds = 0;
    for (Moves moves = rebalancer.rebalance(loads, {}); !moves.empty();
         moves = rebalancer.rebalance(loads, {})) {
        for (const Move& made : moves) {
            auto& from = loads[made.from.value].peers;
            const auto mover = std::find_if(from.begin(), from.end(), [&](const PeerLoad& one) {
                return one.slot == made.slot;
            });
            loads[made.to.value].peers.push_back(*mover);
            from.erase(mover);
        }
        ASSERT_LT(++rounds, 39U);
    }
    for (const StageLoad& stage : loads) {
        EXPECT_EQ(stage.peers.size(), 13U);
    }
}

TEST(Capacity, SendsANewcomerWhereTheRunIsLimited) {
    const Capacity rebalancer;
    EXPECT_EQ(
        rebalancer.place({{peer(1, 9)}, {peer(2, 1), peer(3, 1), peer(4, 1)}, {peer(5, 9)}}),
        StageIndex{1}
    );
}

TEST(Capacity, TheShortestDownloadDecidesAmongEquallyWeakStages) {
    const Capacity rebalancer;
    const StageLoads loads{equal_peers(1, 2, 60), equal_peers(11, 2, 20), equal_peers(21, 3, 1)};
    EXPECT_EQ(rebalancer.place(loads), StageIndex{1});
}

TEST(Capacity, ANewcomerOnItsWayCountsForTheNextOne) {
    const Capacity rebalancer;
    StageLoads loads{equal_peers(1, 2), equal_peers(11, 2)};
    loads[0].peers.push_back(arriving(3, 0));
    EXPECT_EQ(rebalancer.place(loads), StageIndex{1});
}

}  // namespace
}  // namespace router
