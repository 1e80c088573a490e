#include "stages/joining.hpp"

#include "tests/unit/stages/server_bed.hpp"

#include <gtest/gtest.h>

namespace stages {
namespace {

using test::bodies;
using test::kCoordinator;
using test::kStart;

constexpr PeerId kSelf{{2}};
constexpr PeerId kReplica{{3}};
constexpr swarm::Epoch kEpoch{5};

/// An observer of a run's only stage, with the state of version 0; one member.
class JoiningTest : public testing::Test {
 protected:
    JoiningTest()
        : bed_(kSelf, test::small_run(1), 0),
          joining_(bed_.context, {}, "a:1", std::nullopt, std::nullopt) {
        protocol::SlotInfo info;
        info.slot = {1};
        info.peer = kReplica;
        bed_.context.roster.replace({1, {info}});
    }

    void part(ParameterVersion version, std::uint32_t slice = 0) {
        protocol::Part part;
        part.version = version;
        part.epoch = kEpoch;
        part.slice = slice;
        part.gathered = true;
        joining_.follow(kReplica, part, {}, bed_.at());
    }

    void commit(ParameterVersion version) {
        joining_.follow(protocol::Commit{version, kEpoch, {}, {}, {}}, bed_.at());
    }

    bool asks_anew() { return !bodies<protocol::Join>(bed_.settle(), kCoordinator).empty(); }

    test::Bed bed_;
    Joining joining_;
};

TEST_F(JoiningTest, KeepsPartsOfTheVersionsThatFollowItsOwnOnly) {
    for (std::uint64_t step = 0; step < 100; ++step) {
        part({0, 1000 + step});
        part({7, step});
    }
    EXPECT_EQ(joining_.kept(), 0U);
    for (std::uint64_t step = 0; step < 100; ++step) {
        part({0, step});
    }
    EXPECT_EQ(joining_.kept(), 16U);
    bed_.context.version = ParameterVersion{0, 4};
    part({0, 3});
    EXPECT_EQ(joining_.kept(), 16U);
}

TEST_F(JoiningTest, KeepsNothingWhileItWaitsForADonor) {
    bed_.context.version.reset();
    part({0, 0});
    commit({0, 0});
    EXPECT_EQ(joining_.kept(), 0U);
    EXPECT_FALSE(asks_anew());
}

TEST_F(JoiningTest, InventedVersionsDoNotPushOutThoseOfTheRun) {
    for (std::uint64_t step = 0; step < 100; ++step) {
        part({0, 1000 + step});
    }
    commit({0, 0});
    EXPECT_EQ(joining_.kept(), 1U);
    EXPECT_FALSE(asks_anew());
    EXPECT_TRUE(bed_.context.version);
}

TEST_F(JoiningTest, AsksForANewerSnapshotWhenTheRunIsTooFarAhead) {
    commit({0, 15});
    EXPECT_FALSE(asks_anew());
    commit({0, 16});
    EXPECT_TRUE(asks_anew());
    EXPECT_FALSE(bed_.context.version);
    EXPECT_EQ(joining_.kept(), 0U);
}

}  // namespace
}  // namespace stages
