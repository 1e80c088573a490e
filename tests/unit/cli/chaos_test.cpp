#include "swarm/cli/local/chaos.hpp"

#include <gtest/gtest.h>

#include <set>

namespace swarm::cli {
namespace {

using node::PeerChange;

PeerId peer(std::uint64_t number) {
    return {{number, 0, 0, 0}};
}

node::PeerChanged changed(std::uint64_t number, std::uint32_t stage, PeerChange change) {
    return {peer(number), {stage}, change, "", {}};
}

/// Two stages with two members each, after a first commit: the peers 1 and 2 are in stage 0, 3 and
/// 4 in stage 1.
class ChaosTest : public testing::Test {
 protected:
    ChaosTest() {
        for (std::uint64_t number = 1; number <= 4; ++number) {
            chaos.started(peer(number));
            chaos.on(changed(number, number <= 2 ? 0 : 1, PeerChange::Admitted));
        }
        chaos.on(node::StepCommitted{});
    }

    Chaos chaos{7};
};

TEST_F(ChaosTest, AnyMemberWithASafeReplicaMayBeDisturbed) {
    std::set<PeerId> picked;
    for (int i = 0; i < 100; ++i) {
        picked.insert(chaos.pick().value());
    }
    EXPECT_EQ(picked.size(), 4U);
}

TEST_F(ChaosTest, TheLastRunningMemberOfAStageIsLeftAlone) {
    chaos.ended(peer(1));
    EXPECT_FALSE(chaos.may_disturb(peer(2)));
    EXPECT_TRUE(chaos.may_disturb(peer(3)));
}

TEST_F(ChaosTest, ARestartedPeerIsNoReplicaUntilItIsAdmittedAgain) {
    chaos.ended(peer(1));
    chaos.started(peer(1));
    EXPECT_FALSE(chaos.may_disturb(peer(2)));
    chaos.on(changed(1, 0, PeerChange::Observing));
    EXPECT_FALSE(chaos.may_disturb(peer(2)));
    chaos.on(changed(1, 0, PeerChange::Admitted));
    EXPECT_TRUE(chaos.may_disturb(peer(2)));
}

TEST_F(ChaosTest, AnAdmissionOfADeadPeerDoesNotCount) {
    chaos.ended(peer(1));
    chaos.on(changed(1, 0, PeerChange::Admitted));
    chaos.started(peer(1));
    EXPECT_FALSE(chaos.may_disturb(peer(2)));
}

TEST_F(ChaosTest, AFrozenPeerIsNoReplica) {
    chaos.frozen(peer(3));
    EXPECT_FALSE(chaos.may_disturb(peer(4)));
    EXPECT_FALSE(chaos.may_disturb(peer(3)));
}

TEST_F(ChaosTest, AThawedPeerIsTrustedAfterTwoMoreCommits) {
    chaos.frozen(peer(3));
    chaos.on(node::StepCommitted{});
    chaos.on(node::StepCommitted{});
    chaos.thawed(peer(3));
    EXPECT_FALSE(chaos.may_disturb(peer(4)));
    chaos.on(node::StepCommitted{});
    EXPECT_FALSE(chaos.may_disturb(peer(4)));
    chaos.on(node::StepCommitted{});
    EXPECT_TRUE(chaos.may_disturb(peer(4)));
}

TEST_F(ChaosTest, AFencedOrLeavingPeerIsNoReplica) {
    chaos.on(changed(1, 0, PeerChange::Fenced));
    chaos.on(changed(3, 1, PeerChange::Left));
    for (std::uint64_t number = 1; number <= 4; ++number) {
        EXPECT_FALSE(chaos.may_disturb(peer(number))) << number;
    }
    EXPECT_FALSE(chaos.pick());
}

TEST_F(ChaosTest, ASuspectIsNoReplica) {
    chaos.on(changed(1, 0, PeerChange::Suspect));
    EXPECT_FALSE(chaos.may_disturb(peer(2)));
}

TEST_F(ChaosTest, StrangersAreLeftAlone) {
    EXPECT_FALSE(chaos.may_disturb(peer(9)));
}

TEST(Chaos, NothingHappensBeforeTheFirstCommit) {
    Chaos chaos(1);
    for (std::uint64_t number = 1; number <= 2; ++number) {
        chaos.started(peer(number));
        chaos.on(changed(number, 0, PeerChange::Admitted));
    }
    EXPECT_FALSE(chaos.pick());
    chaos.on(node::StepCommitted{});
    EXPECT_TRUE(chaos.pick());
}

TEST(Chaos, PausesLieAroundTheirMean) {
    Chaos chaos(1);
    Duration sum{};
    for (int i = 0; i < 1000; ++i) {
        const Duration pause = chaos.pause(std::chrono::seconds(20));
        EXPECT_GE(pause, std::chrono::seconds(10));
        EXPECT_LE(pause, std::chrono::seconds(30));
        sum += pause;
    }
    EXPECT_NEAR(std::chrono::duration<double>(sum).count(), 20'000, 600);  // 3.3 sigma
}

TEST_F(ChaosTest, AKilledCoordinatorLeavesNobodySafe) {
    chaos.coordinator_ended();
    chaos.on(node::StepCommitted{});
    chaos.on(node::StepCommitted{});
    EXPECT_FALSE(chaos.pick()) << "the next one has not said who is a member";
    chaos.on(changed(1, 0, PeerChange::Admitted));
    EXPECT_FALSE(chaos.pick());
    chaos.on(changed(2, 0, PeerChange::Admitted));
    EXPECT_TRUE(chaos.pick());
}

TEST(Chaos, TheSameSeedPicksTheSame) {
    const auto picks = [](std::uint64_t seed) {
        Chaos chaos(seed);
        for (std::uint64_t number = 1; number <= 8; ++number) {
            chaos.started(peer(number));
            chaos.on(changed(number, 0, PeerChange::Admitted));
        }
        chaos.on(node::StepCommitted{});
        std::vector<PeerId> all;
        for (int i = 0; i < 20; ++i) {
            all.push_back(chaos.pick().value());
        }
        return all;
    };
    EXPECT_EQ(picks(3), picks(3));
    EXPECT_NE(picks(3), picks(4));
}

}  // namespace
}  // namespace swarm::cli
