#include "swarm/run/memory_plan.hpp"

#include <gtest/gtest.h>

namespace swarm::run {
namespace {

constexpr std::uint64_t kMebibyte = 1U << 20;

/// A stage of 1 Mi parameters: 40 MiB for training, 12 MiB for each snapshot; no counters.
MemoryPlan plan(std::uint64_t lent_bytes) {
    return {lent_bytes, {3}, 1U << 20, 0};
}

TEST(MemoryPlan, BoundsNothingUnlessToldTo) {
    EXPECT_TRUE(MemoryPlan().check());
    EXPECT_TRUE(plan(0).check());
    EXPECT_TRUE(plan(0).has_room_for_snapshots(1000));
    EXPECT_EQ(plan(0).graph_room_bytes(2), std::nullopt);
}

TEST(MemoryPlan, HasRoomForTrainingAndOneSnapshotOrSaysHowMuchIsMissing) {
    EXPECT_TRUE(plan(52 * kMebibyte).check());
    const auto checked = plan(52 * kMebibyte - 1).check();
    ASSERT_FALSE(checked);
    EXPECT_EQ(
        checked.error().detail,
        "stage 3 needs 52 MiB beside its activations, and this peer lends 51 MiB; raise --memory, "
        "or train with more stages"
    );
}

TEST(MemoryPlan, GivesGraphsTheRestAfterSnapshots) {
    const MemoryPlan lent = plan(70 * kMebibyte);
    EXPECT_EQ(lent.graph_room_bytes(0), 30 * kMebibyte);
    EXPECT_EQ(lent.graph_room_bytes(2), 6 * kMebibyte);
    EXPECT_EQ(lent.graph_room_bytes(3), 0U);
    EXPECT_TRUE(lent.has_room_for_snapshots(2));
    EXPECT_FALSE(lent.has_room_for_snapshots(3));
}

}  // namespace
}  // namespace swarm::run
