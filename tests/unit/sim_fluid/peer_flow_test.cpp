#include "sim/fluid/peer_flow.hpp"

#include <gtest/gtest.h>

namespace sim {
namespace {

FleetPeer machine() {
    FleetPeer peer;
    peer.number = 1;
    peer.units_per_s = 30;
    return peer;
}

Pipeline pipeline() {
    Pipeline pipeline;
    pipeline.stages = 3;
    pipeline.work_units = 10;
    pipeline.activation_bytes = 1'000;
    return pipeline;
}

TEST(PeerFlow, AForwardAndABackwardAreThreeTimesTheWorkOfAForward) {
    const PeerFlow flow = flow_of(machine(), 1, pipeline(), 1);
    EXPECT_DOUBLE_EQ(flow.compute_s, 1);
    EXPECT_DOUBLE_EQ(flow.per_s, 1);
    EXPECT_DOUBLE_EQ(flow.units_per_s, 30);
}

TEST(PeerFlow, ALineMayBeNarrowerThanTheDevice) {
    FleetPeer peer = machine();
    peer.up_bytes_per_s = 1'000;
    EXPECT_DOUBLE_EQ(flow_of(peer, 1, pipeline(), 1).per_s, 0.5);
    peer.up_bytes_per_s = 1'000'000;
    EXPECT_DOUBLE_EQ(flow_of(peer, 1, pipeline(), 1).per_s, 1);
    peer.down_bytes_per_s = 500;
    EXPECT_DOUBLE_EQ(flow_of(peer, 1, pipeline(), 1).per_s, 0.25);
}

TEST(PeerFlow, TheFirstAndTheLastStageCarryHalf) {
    FleetPeer peer = machine();
    peer.up_bytes_per_s = 500;
    EXPECT_DOUBLE_EQ(flow_of(peer, 1, pipeline(), 0).per_s, 0.5);
    EXPECT_DOUBLE_EQ(flow_of(peer, 1, pipeline(), 1).per_s, 0.25);
    EXPECT_DOUBLE_EQ(flow_of(peer, 1, pipeline(), 2).per_s, 0.5);
}

TEST(PeerFlow, OneStageAloneCarriesNothing) {
    Pipeline alone = pipeline();
    alone.stages = 1;
    EXPECT_EQ(tensors_each_way(alone, 0), 0U);
}

TEST(PeerFlow, ASlowedPeerTakesLongerAndAFrozenOneNothing) {
    EXPECT_DOUBLE_EQ(flow_of(machine(), 0.25, pipeline(), 1).compute_s, 4);
    EXPECT_EQ(flow_of(machine(), 0, pipeline(), 1).per_s, 0);
}

}  // namespace
}  // namespace sim
