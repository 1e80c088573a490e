#include "stages/server/joining.hpp"

#include "tests/unit/stages/server_bed.hpp"

#include <gtest/gtest.h>

namespace stages {
namespace {

using test::bodies;
using test::kCoordinator;
using test::kStart;

constexpr PeerId kJoiner{{2}};
constexpr PeerId kReplica{{3}};
constexpr swarm::Epoch kEpoch{5};

/// An observer of a run's only stage, which has one member, with the state of version 0.
class JoiningTest : public testing::Test {
 protected:
    JoiningTest()
        : bed_(kJoiner, test::small_run(1), 0),
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

TEST_F(JoiningTest, KeepsPartsOnlyOfVersionsThatFollowItsOwn) {
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

/// An observer in mode sparse before an exchange, whose buffer is not empty.
class SparseJoiningTest : public JoiningTest {
 protected:
    SparseJoiningTest() {
        swarm::run::RunConfig& config = bed_.context.config;
        config.mode = swarm::run::SyncMode::Sparse;
        config.sync_every = 1;  // commit 1 is an exchange
        StageState state = StageState::from_seed(config, bed_.context.layout);
        state.set_version(kExchange);
        bed_.context.worker->start_from(std::move(state));
        bed_.context.version = kExchange;
        const auto weights = bed_.context.worker->state().weights();
        shared_ = std::make_shared<const std::vector<float>>(weights.begin(), weights.end());
        bed_.context.replica =
            std::make_shared<SparseReplica>(bed_.context.layout, codec_, shared_);
        bed_.context.replica->resume(shared_, std::vector<float>(shared_->size(), 4.0F));
    }

    static constexpr ParameterVersion kExchange{0, 1};
    const compression::Codec& codec_ = *compression::find_codec(compression::CodecId::Sparse);
    SparseReplica::Weights shared_;
};

TEST_F(SparseJoiningTest, AFollowedExchangeDecaysTheBuffer) {
    SparseReplica member(bed_.context.layout, codec_, shared_);
    member.trained_on(1);
    std::vector<float> local = *shared_;
    for (float& weight : local) {
        weight += 0.5F;
    }
    const SparseShare share = *member.share(local, 0);
    const SparseReplica::Weights proposed = *member.propose({{share}});
    protocol::Reduce reduce{kExchange, kEpoch, {}, {{1}}, {}};
    reduce.shares = {{{1}, 1}};
    joining_.follow(reduce);
    node::Payload payload(
        {protocol::Dtype::Bytes, {}, {static_cast<std::uint32_t>(share.bytes.size())}}, share.bytes
    );
    const protocol::Part sent{kExchange, kEpoch, 0, true};
    joining_.follow(kReplica, sent, std::move(payload), bed_.at());
    const auto hash = SparseReplica::hash_of(proposed);
    const protocol::StepScalars none{.clip_factor = 0};
    joining_.follow(protocol::Commit{kExchange, kEpoch, none, {hash}, {}}, bed_.at());
    bed_.settle();
    EXPECT_EQ(bed_.context.version, (ParameterVersion{0, 2}));
    EXPECT_EQ(*bed_.context.replica->shared(), *proposed);
    EXPECT_NEAR(bed_.context.replica->error().front(), 0.95F * 4, 1e-6F);
}

}  // namespace
}  // namespace stages
