#include "stages/worker/sparse_replica.hpp"

#include "swarm/base/rng.hpp"
#include "tests/unit/stages/small_models.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace stages {
namespace {

using Values = std::vector<float>;

class SparseReplicaTest : public testing::Test {
 protected:
    [[nodiscard]] SparseReplica::Weights some(std::uint64_t seed) const {
        swarm::Rng rng(seed, 1);
        Values values(layout.elements());
        for (float& value : values) {
            value = std::ldexp(static_cast<float>(rng.below(2048)) - 1024.0F, -10);
        }
        return std::make_shared<const Values>(std::move(values));
    }

    [[nodiscard]] SparseReplica replica() const { return {layout, codec, shared}; }

    static Values buffer_of(const SparseReplica& of) {
        return {of.error().begin(), of.error().end()};
    }

    const swarm::run::StageLayout layout = swarm::run::partition(test::small_run(1))[0];
    const compression::Codec& codec = *compression::find_codec(compression::CodecId::Sparse);
    const SparseReplica::Weights shared = some(1);
};

TEST_F(SparseReplicaTest, AnotherEpochOfAnExchangeSendsTheSameShare) {
    SparseReplica one = replica();
    one.trained_on(3);
    one.trained_on(2);
    const auto first = one.share(*some(2), 0);
    ASSERT_TRUE(first.has_value()) << first.error().detail;
    const Values kept = buffer_of(one);
    EXPECT_TRUE(std::ranges::any_of(kept, [](float value) { return value != 0; }));
    const auto again = one.share(*some(2), 0);
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(again->bytes, first->bytes);
    EXPECT_EQ(again->microbatches, 5U);
    EXPECT_EQ(buffer_of(one), kept) << "taken from twice";
}

TEST_F(SparseReplicaTest, NothingIsSharedBeforeTheDecision) {
    SparseReplica one = replica();
    SparseReplica other = replica();
    one.trained_on(1);
    other.trained_on(3);
    const std::vector<SparseShare> both = {*one.share(*some(2), 0), *other.share(*some(3), 0)};
    const auto with_both = one.propose(both);
    ASSERT_TRUE(with_both.has_value());
    EXPECT_EQ(*one.shared(), *some(1));
    EXPECT_EQ(one.trained(), 1U);
    // The other replica is gone. The next epoch starts from the shared weights, not from the
    // proposal of the last epoch.
    const auto alone = one.propose(std::span(both).first(1));
    ASSERT_TRUE(alone.has_value());
    EXPECT_NE(**alone, **with_both);
    EXPECT_EQ(**other.propose(both), **with_both) << "whoever has the same shares has the same";
    Values by_hand = *shared;
    ASSERT_TRUE(apply_shares(layout, codec, std::span(both).first(1), by_hand).has_value());
    EXPECT_EQ(**alone, by_hand);
}

TEST_F(SparseReplicaTest, ADecisionBeginsTheNextRound) {
    SparseReplica one = replica();
    one.trained_on(4);
    const SparseShare first = *one.share(*some(2), 0);
    const auto next = one.propose({{first}});
    ASSERT_TRUE(next.has_value());
    const Values kept = buffer_of(one);
    one.adopt(*next);
    EXPECT_EQ(one.shared(), *next);
    EXPECT_EQ(one.trained(), 0U);
    EXPECT_EQ(buffer_of(one), kept);
    one.trained_on(2);
    const auto second = one.share(*some(3), 0);
    ASSERT_TRUE(second.has_value());
    EXPECT_NE(second->bytes, first.bytes);
    EXPECT_EQ(second->microbatches, 2U);
}

TEST_F(SparseReplicaTest, ALostRoundIsCountedAndLeavesNothingBehind) {
    SparseReplica one = replica();
    one.trained_on(4);
    ASSERT_TRUE(one.share(*some(2), 0).has_value());
    EXPECT_EQ(one.start_anew(some(5)), 4U) << "a share that was sent is lost until it is decided";
    EXPECT_EQ(buffer_of(one), Values(layout.elements()));
    EXPECT_EQ(*one.shared(), *some(5));
    EXPECT_EQ(one.start_anew(some(5)), 0U);
    SparseReplica newcomer(layout, codec, some(5));
    one.trained_on(1);
    newcomer.trained_on(1);
    EXPECT_EQ(one.share(*some(6), 0)->bytes, newcomer.share(*some(6), 0)->bytes);
}

TEST_F(SparseReplicaTest, ARoundThatBeginsAnewKeepsWhatWasNotSentBefore) {
    SparseReplica one = replica();
    one.trained_on(4);
    const SparseShare first = *one.share(*some(2), 0);
    one.adopt(*one.propose({{first}}));
    const Values unsent = buffer_of(one);
    one.trained_on(3);
    one.begin_round_anew(one.shared(), 0);
    EXPECT_EQ(one.trained(), 0U);
    EXPECT_EQ(buffer_of(one), unsent);
    one.trained_on(2);
    ASSERT_TRUE(one.share(*some(3), 0).has_value());
    const Values taken = buffer_of(one);
    one.begin_round_anew(one.shared(), 0);
    EXPECT_EQ(buffer_of(one), taken)
        << "what was sent may have been decided on: it must not return";
}

TEST_F(SparseReplicaTest, MissedExchangesDecayTheBuffer) {
    SparseReplica one = replica();
    one.resume(some(2), Values(layout.elements(), 4.0F));
    one.begin_round_anew(some(3), 2);
    EXPECT_EQ(*one.shared(), *some(3));
    const Values left = buffer_of(one);
    EXPECT_NEAR(left.front(), 4.0F * 0.95F * 0.95F, 1e-6F);
    EXPECT_EQ(left.front(), left.back());
    one.trained_on(1);
    ASSERT_TRUE(one.share(*some(4), 0).has_value());
    const Values shared_once = buffer_of(one);
    one.begin_round_anew(some(3), 1);
    EXPECT_EQ(buffer_of(one), shared_once) << "its share has decayed it for this exchange";
    one.begin_round_anew(some(3), 1'000'000'000);
    EXPECT_EQ(buffer_of(one), Values(layout.elements()));
}

TEST_F(SparseReplicaTest, GoesOnFromTheBufferOfACheckpoint) {
    SparseReplica whole = replica();
    whole.trained_on(1);
    const SparseShare share = *whole.share(*some(2), 0);
    whole.adopt(*whole.propose({{share}}));
    SparseReplica resumed = replica();
    resumed.resume(whole.shared(), buffer_of(whole));
    whole.trained_on(1);
    resumed.trained_on(1);
    EXPECT_EQ(resumed.share(*some(3), 0)->bytes, whole.share(*some(3), 0)->bytes);
}

TEST_F(SparseReplicaTest, RefusesWeightsThatAreNoNumbersAndSharesOfAnotherStage) {
    SparseReplica one = replica();
    one.trained_on(1);
    Values local = *some(2);
    local[7] = std::numeric_limits<float>::quiet_NaN();
    const auto none = one.share(local, 0);
    ASSERT_TRUE(none.has_error());
    EXPECT_EQ(none.error().code, swarm::ErrorCode::NotFinite);
    EXPECT_EQ(buffer_of(one), Values(layout.elements())) << "or the next share would be NaN, too";
    const std::vector<SparseShare> foreign = {{std::vector<std::byte>(3), 1}};
    const auto mismatch = one.propose(foreign);
    ASSERT_TRUE(mismatch.has_error());
    EXPECT_EQ(mismatch.error().code, swarm::ErrorCode::Mismatch);
    EXPECT_EQ(*one.shared(), *some(1));
}

}  // namespace
}  // namespace stages
