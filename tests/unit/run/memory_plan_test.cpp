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

TEST(MemoryPlan, CountsTheLargestModelWithoutOverflow) {
    RunConfig config;
    config.model = *named_model("oracle");
    config.model.layers = 448;
    config.model.width = 1U << 28;
    config.stages = 1;
    const std::uint64_t elements = partition(config).front().elements();
    EXPECT_GE(elements, 448ULL << 28);
    EXPECT_EQ(all_state_bytes(config), 12 * elements);
    EXPECT_GE(single_process_bytes(config), 40 * elements);
    config.mode = SyncMode::Sparse;
    config.replicas = 4;
    EXPECT_GE(single_process_bytes(config), 4 * 56 * elements);
    EXPECT_EQ(
        too_large_for_machine("this", 3 * kMebibyte, 2 * kMebibyte),
        "this needs 3 MiB, and this machine has 2 MiB for this process; take a smaller model, or "
        "train it with more stages on more machines"
    );
}

}  // namespace
}  // namespace swarm::run
