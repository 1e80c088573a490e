#include "swarm/run/peer_assignment.hpp"

#include "swarm/base/rng.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

namespace swarm::run {
namespace {

using Peers = std::vector<PeerPower>;
using Stages = std::vector<StageNeed>;

/// Tries each stage for each peer.
double best_of_all(const Peers& peers, const Stages& stages, std::vector<double> per_s = {}) {
    const std::size_t next = peers.size();
    per_s.resize(stages.size(), 0);
    if (next == 0) {
        return *std::min_element(per_s.begin(), per_s.end());
    }
    const Peers others(peers.begin(), peers.end() - 1);
    double best = best_of_all(others, stages, per_s);  // one peer is left out
    for (std::size_t s = 0; s < stages.size(); ++s) {
        const PeerPower& peer = peers.back();
        if (peer.memory_bytes > 0 && stages[s].memory_bytes > peer.memory_bytes) {
            continue;
        }
        const double more = peer.units_per_s / stages[s].units_per_microbatch;
        per_s[s] += more;
        best = std::max(best, best_of_all(others, stages, per_s));
        per_s[s] -= more;
    }
    return best;
}

TEST(PeerAssignment, ComesNearTheBestOfAllAssignments) {
    Rng rng(1, 1);
    constexpr int kCases = 300;
    double worst = 1;
    double mean = 0;
    for (int i = 0; i < kCases; ++i) {
        Stages stages(2 + rng.below(2));
        for (StageNeed& stage : stages) {
            stage.units_per_microbatch = 1 + rng.unit();
        }
        Peers peers(stages.size() + rng.below(6));
        for (PeerPower& peer : peers) {
            peer.units_per_s = 0.25 + rng.unit();
        }
        const PeerAssignment found = assign_peers(peers, stages);
        const double best = best_of_all(peers, stages);
        ASSERT_LE(found.narrowest(), best * (1 + 1e-9)) << "case " << i;
        worst = std::min(worst, found.narrowest() / best);
        mean += found.narrowest() / best / kCases;
    }
    std::printf("of the best: worst %.3f, mean %.3f\n", worst, mean);
    EXPECT_GE(worst, 0.75);
    EXPECT_GE(mean, 0.97);
}

TEST(PeerAssignment, TheCostlyStageGetsMorePeers) {
    const Peers peers(9, PeerPower{1});
    const PeerAssignment found = assign_peers(peers, {{1}, {2}});
    EXPECT_EQ(std::count(found.stage_of.begin(), found.stage_of.end(), StageIndex{0}), 3);
    EXPECT_DOUBLE_EQ(found.narrowest(), 3);
}

TEST(PeerAssignment, ASmallPeerGoesWhereItFits) {
    const Stages stages{{1, 100}, {1, 10}};
    const PeerAssignment found = assign_peers({{8, 20}, {1, 200}, {1, 5}}, stages);
    EXPECT_EQ(found.stage_of[0], StageIndex{1});
    EXPECT_EQ(found.stage_of[1], StageIndex{0});
    EXPECT_EQ(found.stage_of[2], std::nullopt);
    EXPECT_DOUBLE_EQ(found.narrowest(), 1);
}

TEST(PeerAssignment, ASingleMoveMendsTheResultOfLargestFirst) {
    // The first stage takes the fastest peer, which is the only one that fits the second stage.
    const Stages stages{{1, 10}, {1, 100}};
    const PeerAssignment found = assign_peers({{9, 0}, {4, 10}, {4, 10}}, stages);
    EXPECT_EQ(found.stage_of[0], StageIndex{1});
    EXPECT_DOUBLE_EQ(found.narrowest(), 8);
}

TEST(PeerAssignment, WithTooFewPeersAStageStaysEmpty) {
    EXPECT_EQ(assign_peers({{1}}, {{1}, {1}}).narrowest(), 0);
}

}  // namespace
}  // namespace swarm::run
