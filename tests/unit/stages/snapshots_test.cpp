#include "stages/server/snapshots.hpp"

#include "swarm/run/state_chunk.hpp"
#include "tests/unit/stages/server_bed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace stages {
namespace {

using std::chrono::seconds;
using test::bodies;
using test::kStart;
using Pace = Snapshots::Pace;

constexpr PeerId kSelf{{2}};
constexpr PeerId kJoiner{{3}};

/// A donor that begins at version (0, 0).
class SnapshotsTest : public testing::Test {
 protected:
    SnapshotsTest() : bed_(kSelf, test::small_run(1), 0), snapshots_(bed_.context) {}

    /// Lends memory for training and `count` snapshots.
    void lend(std::uint64_t count) {
        const std::uint64_t parameters = bed_.context.layout.elements();
        const std::uint64_t bytes =
            (40 + 12 * count) * parameters + 20 * bed_.context.config.microbatches;
        bed_.context.memory =
            swarm::run::MemoryPlan(bytes, {0}, parameters, bed_.context.config.microbatches);
        ASSERT_TRUE(bed_.context.memory.check());
    }

    /// Makes this version, as a commit would, and orders its snapshot.
    void freeze(std::uint64_t step, TimePoint now = kStart) {
        bed_.context.version = ParameterVersion{0, step};
        auto state = StageState::from_seed(bed_.context.config, bed_.context.layout);
        state.set_version({0, step});
        bed_.context.worker->start_from(std::move(state));
        snapshots_.freeze({0, step}, bed_.at(now));
        bed_.settle(now);
    }

    bool serves(std::uint64_t step, TimePoint now = kStart, Pace pace = Pace::Full) {
        snapshots_.on(kJoiner, protocol::Fetch{{0, step}, {0}, 0}, pace, bed_.at(now));
        return !bodies<protocol::Chunk>(bed_.settle(now), kJoiner).empty();
    }

    bool says_busy(std::uint64_t step, TimePoint now = kStart) {
        const protocol::Fetch fetch{{0, step}, {0}, std::nullopt};
        snapshots_.on(kJoiner, fetch, Pace::Full, bed_.at(now));
        const auto refused = bodies<protocol::ChunkRefused>(bed_.settle(now), kJoiner);
        return !refused.empty() && refused[0].busy;
    }

    test::Bed bed_;
    Snapshots snapshots_;
};

TEST_F(SnapshotsTest, KeepsTwoSnapshots) {
    freeze(0);
    freeze(1);
    EXPECT_TRUE(serves(0));
    EXPECT_TRUE(serves(1));
    EXPECT_FALSE(serves(2));
}

TEST_F(SnapshotsTest, SendsAChunkPacked) {
    freeze(0);
    const auto fetch = protocol::Fetch{{0, 0}, {0}, 0};
    snapshots_.on(kJoiner, fetch, Pace::Full, bed_.at(kStart));
    snapshots_.on(kJoiner, fetch, Pace::Full, bed_.at(kStart));
    const auto sent = bed_.settle();
    ASSERT_EQ(sent.size(), 2U);
    const Payload& first = sent[0].payload;
    EXPECT_TRUE(std::ranges::equal(first.bytes(), sent[1].payload.bytes()));
    const Payload raw = bed_.context.worker->state().chunk(0);
    EXPECT_LT(first.bytes().size() * 112, raw.bytes().size() * 100);
    const auto unpacked = swarm::run::unpack_chunk(first, raw.bytes().size());
    ASSERT_TRUE(unpacked) << unpacked.error().detail;
    EXPECT_TRUE(std::ranges::equal(unpacked->bytes(), raw.bytes()));
}

TEST_F(SnapshotsTest, KeepsAsManySnapshotsAsTheMemoryLentHasRoomFor) {
    lend(1);
    freeze(0);
    freeze(1, kStart + seconds(10));
    EXPECT_EQ(snapshots_.kept(), 1U);
    EXPECT_FALSE(serves(0));
    EXPECT_TRUE(serves(1));
}

TEST_F(SnapshotsTest, ReplacesTheSnapshotFetchedLeastRecently) {
    freeze(0);
    freeze(1);
    EXPECT_TRUE(serves(0, kStart + seconds(5)));
    freeze(2, kStart + seconds(6));
    EXPECT_TRUE(serves(0, kStart + seconds(6)));
    EXPECT_FALSE(serves(1, kStart + seconds(6)));
    EXPECT_TRUE(serves(2, kStart + seconds(6)));
}

TEST_F(SnapshotsTest, AnswersBusyRatherThanDropASnapshotInUse) {
    lend(1);
    freeze(0);
    EXPECT_TRUE(serves(0, kStart + seconds(5)));
    freeze(1, kStart + seconds(6));
    EXPECT_TRUE(says_busy(1, kStart + seconds(6)));
    EXPECT_TRUE(serves(0, kStart + seconds(6)));
}

TEST_F(SnapshotsTest, FreezesAnOwedSnapshotOnceThereIsRoom) {
    lend(1);
    freeze(0);
    freeze(1, kStart + seconds(1));
    EXPECT_TRUE(says_busy(1, kStart + seconds(1)));
    EXPECT_TRUE(says_busy(1, kStart + seconds(2))) << "frozen now, not copied yet";
    EXPECT_TRUE(serves(1, kStart + seconds(2)));
    EXPECT_FALSE(serves(0, kStart + seconds(2)));
}

TEST_F(SnapshotsTest, OwesNoSnapshotOfAStateThatIsGone) {
    lend(1);
    freeze(0);
    freeze(1, kStart + seconds(1));
    bed_.context.version = ParameterVersion{0, 2};
    EXPECT_FALSE(serves(1, kStart + seconds(9)));
    EXPECT_TRUE(serves(0, kStart + seconds(9))) << "nothing took its place";
}

TEST_F(SnapshotsTest, BoundsTheChunksPerSecond) {
    freeze(0);
    int served = 0;
    for (int asked = 0; asked < 1000; ++asked) {
        served += serves(0, kStart + std::chrono::milliseconds(10 * asked)) ? 1 : 0;
    }
    EXPECT_NEAR(served, 500 + 25, 2) << "50 a second, and half a second's at once";
    EXPECT_TRUE(serves(0, kStart + seconds(11))) << "it has had a second's rest";
}

TEST_F(SnapshotsTest, LeavesItsLineToAReduction) {
    freeze(0);
    int served = 0;
    for (int asked = 0; asked < 1000; ++asked) {
        const TimePoint now = kStart + std::chrono::milliseconds(10 * asked);
        served += serves(0, now, Pace::BesideReduction) ? 1 : 0;
    }
    EXPECT_NEAR(served, 25 + 1, 1) << "five in two seconds, and half a second's at once";
}

TEST_F(SnapshotsTest, ForgetsSnapshotsThatNobodyFetches) {
    freeze(0);
    snapshots_.forget_idle(bed_.at(kStart + seconds(59)));
    EXPECT_EQ(snapshots_.kept(), 1U);
    EXPECT_TRUE(serves(0, kStart + seconds(59)));
    snapshots_.forget_idle(bed_.at(kStart + seconds(118)));
    EXPECT_EQ(snapshots_.kept(), 1U);
    snapshots_.forget_idle(bed_.at(kStart + seconds(119)));
    EXPECT_EQ(snapshots_.kept(), 0U);
}

TEST_F(SnapshotsTest, TakesItsMemoryFromTheGraphs) {
    bed_.context.layout = swarm::run::partition(test::small_run(2))[0];
    bed_.context.config = test::small_run(2);
    bed_.context.worker = test::make_worker(bed_.context.config, test::make_noise_compute, 0);
    lend(1);
    bed_.context.worker->set_graph_room(*bed_.context.memory.graph_room_bytes(0));
    const auto backwards_that_compute_again = [&] {
        const std::uint64_t before = bed_.context.worker->recomputed();
        auto leg = test::leg_of(bed_.context.config, 1);
        const Payload output = *bed_.context.worker->forward(leg, Graph::Keep);
        leg.input = output;
        EXPECT_TRUE(bed_.context.worker->backward(leg));
        return bed_.context.worker->recomputed() - before;
    };
    EXPECT_EQ(backwards_that_compute_again(), 0U);
    freeze(0);
    EXPECT_EQ(backwards_that_compute_again(), 1U);
    snapshots_.forget_all(bed_.at());
    bed_.settle();
    EXPECT_EQ(backwards_that_compute_again(), 0U);
}

}  // namespace
}  // namespace stages
