#include "router/expected_finish.hpp"

#include "tests/start.hpp"
#include "tests/unit/router/one_unit.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace router {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using swarm::test::kStart;
using test::kOneUnit;

/// A peer that was tried once, so that no exploration is due.
void add_tried(ExpectedFinish& policy, std::uint64_t slot, double units_per_s) {
    policy.add({slot}, kStart);
    policy.rate_changed({slot}, units_per_s, kStart);
}

void explore(ExpectedFinish& policy, std::size_t peers) {
    for (std::size_t i = 0; i < 2 * peers; ++i) {
        if (const auto slot = policy.pick(kOneUnit, kStart)) {
            policy.finished(*slot, kOneUnit, kStart);
        }
    }
}

TEST(ExpectedFinish, PicksTheFastestIdlePeer) {
    ExpectedFinish policy(1);
    add_tried(policy, 1, 10);
    add_tried(policy, 2, 20);
    add_tried(policy, 3, 15);
    explore(policy, 3);
    EXPECT_EQ(policy.pick(kOneUnit, kStart), SlotId{2});
}

TEST(ExpectedFinish, CountsTheQueue) {
    ExpectedFinish policy(1);
    add_tried(policy, 1, 10);
    add_tried(policy, 2, 25);
    explore(policy, 2);
    EXPECT_EQ(policy.pick(kOneUnit, kStart), SlotId{2});
    EXPECT_EQ(policy.pick(kOneUnit, kStart), SlotId{2});
    EXPECT_EQ(policy.pick(kOneUnit, kStart), SlotId{1});
    policy.finished({2}, kOneUnit, kStart);
    EXPECT_EQ(policy.pick(kOneUnit, kStart), SlotId{2});
}

TEST(ExpectedFinish, CountsTheTransfer) {
    ExpectedFinish policy(1);
    add_tried(policy, 1, 10);
    add_tried(policy, 2, 20);
    policy.bandwidth_changed({1}, 1e8, kStart);
    policy.bandwidth_changed({2}, 1e6, kStart);
    explore(policy, 2);
    EXPECT_EQ(policy.pick({.work_units = 1, .bytes = 1e6}, kStart), SlotId{1});
    EXPECT_EQ(policy.pick({.work_units = 1, .bytes = 1e2}, kStart), SlotId{2});
}

TEST(ExpectedFinish, UndoTakesTheChargeBack) {
    ExpectedFinish policy(1);
    add_tried(policy, 1, 10);
    add_tried(policy, 2, 11);
    explore(policy, 2);
    ASSERT_EQ(policy.pick(kOneUnit, kStart), SlotId{2});
    policy.undo({2}, kOneUnit, kStart);
    EXPECT_EQ(policy.pick(kOneUnit, kStart), SlotId{2});
}

TEST(ExpectedFinish, TriesANewPeerWithinNPicksButOnlyOnce) {
    ExpectedFinish policy(1);
    for (std::uint64_t i = 1; i <= 5; ++i) {
        add_tried(policy, i, 1000);
    }
    explore(policy, 5);
    policy.add({6}, kStart);
    int picked = 0;
    for (int i = 0; i < 20; ++i) {
        const auto slot = policy.pick({.work_units = 1000}, kStart);
        picked += *slot == SlotId{6} ? 1 : 0;
        EXPECT_TRUE(picked > 0 || i < 6);
    }
    EXPECT_GE(picked, 1);
    EXPECT_LE(picked, 4) << "it counts with the mean rate, so it gets a sixth like all others";
}

/// Picks are done at once, so that a peer is never busy when its probe is due.
void expect_probed_within(std::uint64_t peers, std::uint64_t bound) {
    ExpectedFinish policy(1);
    for (std::uint64_t i = 0; i < peers; ++i) {
        add_tried(policy, i, i == 0 ? 1e6 : 1.0);  // only a probe picks the other peers
    }
    std::map<std::uint64_t, std::uint64_t> last;
    for (std::uint64_t pick = 1; pick <= 10 * bound; ++pick) {
        const SlotId slot = *policy.pick(kOneUnit, kStart);
        policy.finished(slot, kOneUnit, kStart);
        ASSERT_LE(pick - last[slot.value], bound) << peers << " peers, peer " << slot.value;
        last[slot.value] = pick;
    }
    ASSERT_EQ(last.size(), peers);
    for (const auto& [slot, pick] : last) {
        EXPECT_LE(10 * bound - pick, bound) << peers << " peers, peer " << slot;
    }
}

TEST(ExpectedFinish, EveryPeerIsPickedAtLeastOnceInFiftyPicks) {
    for (const std::uint64_t peers : {1U, 2U, 3U, 5U, 12U}) {
        expect_probed_within(peers, 50);
    }
}

TEST(ExpectedFinish, EveryOfManyPeersIsPickedAtLeastOnceInFourTimesAsManyPicks) {
    for (const std::uint64_t peers : {13U, 32U, 33U, 100U, 1000U}) {
        expect_probed_within(peers, 4 * peers);
    }
}

TEST(ExpectedFinish, KeepsOneProbeInFlightPerPeer) {
    ExpectedFinish policy(1);
    add_tried(policy, 1, 1e6);
    add_tried(policy, 2, 1e-3);
    int slow = 0;
    for (int i = 0; i < 1000; ++i) {
        const SlotId slot = *policy.pick(kOneUnit, kStart);
        if (slot == SlotId{2}) {
            ++slow;  // never answered
        } else {
            policy.finished(slot, kOneUnit, kStart);
        }
    }
    EXPECT_EQ(slow, 1);
}

int probes_of_a_slow_peer(Duration step_needs, Duration per_pick) {
    ExpectedFinish policy(1);
    add_tried(policy, 1, 1000);
    add_tried(policy, 2, 0.1);  // ten seconds per unit
    TimePoint now = kStart;
    int probes = 0;
    for (int i = 0; i < 500; ++i) {
        now += per_pick;
        policy.rate_changed({1}, 1000, now);
        const Request request{.work_units = 1, .bytes = 0, .step_needs = step_needs};
        const SlotId slot = *policy.pick(request, now);
        policy.finished(slot, request, now);
        probes += slot == SlotId{2} ? 1 : 0;
    }
    return probes;
}

TEST(ExpectedFinish, ProbesOnlyAPeerWhoseTimeFitsIntoTheRestOfTheStep) {
    EXPECT_GE(probes_of_a_slow_peer(seconds(11), {}), 10);
    EXPECT_EQ(probes_of_a_slow_peer(seconds(9), {}), 0);
    EXPECT_GE(probes_of_a_slow_peer(Duration::zero(), {}), 10) << "zero: not known";
}

TEST(ExpectedFinish, OldNewsFadesSoThatAStalledPeerIsTriedAgain) {
    // 10 s fit into 1 s after four half-lives of 30 s; 500 picks take 250 s.
    EXPECT_GE(probes_of_a_slow_peer(seconds(1), milliseconds(500)), 1);
    EXPECT_EQ(probes_of_a_slow_peer(seconds(1), milliseconds(100)), 0);
}

TEST(ExpectedFinish, BeyondThirtyTwoPeersLoadFollowsSpeed) {
    ExpectedFinish policy(1);
    for (std::uint64_t i = 0; i < 200; ++i) {
        add_tried(policy, i, i % 2 == 0 ? 30 : 10);
    }
    explore(policy, 200);
    int fast = 0;
    for (int i = 0; i < 4000; ++i) {
        fast += policy.pick(kOneUnit, kStart)->value % 2 == 0 ? 1 : 0;
    }
    EXPECT_NEAR(fast, 3000, 150);
}

}  // namespace
}  // namespace router
