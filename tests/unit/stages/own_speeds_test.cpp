#include "stages/server/own_speeds.hpp"

#include "tests/start.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <tuple>

namespace stages {
namespace {

using namespace std::chrono_literals;
using protocol::Leg;
using swarm::test::kStart;

constexpr std::uint64_t kTensor = 100'000;

TEST(OwnSpeeds, KnowsTheTimeOfAMicrobatchOnceBothLegsAreMeasured) {
    OwnSpeeds speeds;
    speeds.computed(Leg::Forward, kStart, kStart + 100ms);
    EXPECT_EQ(speeds.measured(OwnSpeeds::Place::BelowTail, kStart).microbatch_s, 0);
    EXPECT_DOUBLE_EQ(speeds.measured(OwnSpeeds::Place::Tail, kStart).microbatch_s, 0.1)
        << "a tail has one job";
    speeds.computed(Leg::Backward, kStart + 200ms, kStart + 400ms);
    EXPECT_DOUBLE_EQ(speeds.measured(OwnSpeeds::Place::BelowTail, kStart).microbatch_s, 0.3);
}

TEST(OwnSpeeds, DoesNotCountTheWaitForTheJobBefore) {
    OwnSpeeds speeds;
    speeds.computed(Leg::Forward, kStart, kStart + 100ms);
    speeds.computed(Leg::Forward, kStart, kStart + 200ms);
    EXPECT_DOUBLE_EQ(speeds.measured(OwnSpeeds::Place::Tail, kStart).microbatch_s, 0.1);
}

TEST(OwnSpeeds, KeepsTheTwoDirectionsApart) {
    OwnSpeeds speeds;
    const auto forward = speeds.sent(Leg::Forward, kStart);
    const auto backward = speeds.sent(Leg::Backward, kStart);
    speeds.arrived(Leg::Forward, kTensor, forward, kStart + 100ms);
    speeds.arrived(Leg::Backward, kTensor, backward, kStart + 1s);
    const auto measured = speeds.measured(OwnSpeeds::Place::BelowTail, kStart + 1s);
    EXPECT_DOUBLE_EQ(measured.to_next_bytes_per_s, 1e6);
    EXPECT_DOUBLE_EQ(measured.to_previous_bytes_per_s, 1e5);
}

}  // namespace
}  // namespace stages
