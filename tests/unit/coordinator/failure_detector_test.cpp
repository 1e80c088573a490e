#include "swarm/coordinator/failure_detector.hpp"

#include "tests/start.hpp"

#include <gtest/gtest.h>

namespace swarm::coordinator {
namespace {

using namespace std::chrono_literals;
using Findings = std::vector<FailureDetector::Finding>;
using Verdict = FailureDetector::Verdict;
using swarm::test::kStart;

constexpr PeerId kPeer{{7}};
constexpr PeerId kEarlierPeer{{3}};

class FailureDetectorTest : public testing::Test {
 protected:
    FailureDetectorTest() { detector_.watch(kPeer, kStart); }

    FailureDetector detector_{FailureDetector::Timing{}};
};

TEST_F(FailureDetectorTest, SuspectsAfterFourSecondsOfSilenceAndBuriesAfterSix) {
    EXPECT_EQ(detector_.next_deadline(), kStart + 4s);
    EXPECT_EQ(detector_.judge(kStart + 4s), (Findings{{kPeer, Verdict::Suspect}}));
    EXPECT_EQ(detector_.next_deadline(), kStart + 6s);
    EXPECT_EQ(detector_.judge(kStart + 6s), (Findings{{kPeer, Verdict::Dead}}));
    EXPECT_EQ(detector_.next_deadline(), kNever);
}

TEST_F(FailureDetectorTest, GivesNoVerdictBeforeTheDeadline) {
    EXPECT_EQ(detector_.judge(kStart + 4s - 1ns), Findings{});
}

TEST_F(FailureDetectorTest, AHeartbeatEndsASuspicion) {
    EXPECT_EQ(detector_.judge(kStart + 4s).size(), 1U);
    detector_.heard(kPeer, kStart + 5s);
    EXPECT_EQ(detector_.next_deadline(), kStart + 9s);
}

TEST_F(FailureDetectorTest, ALostLinkHasTwoSecondsToComeBack) {
    detector_.link_lost(kPeer, kStart + 1s);
    EXPECT_EQ(detector_.next_deadline(), kStart + 3s);
    EXPECT_EQ(detector_.judge(kStart + 3s), (Findings{{kPeer, Verdict::Dead}}));
}

TEST_F(FailureDetectorTest, ARestoredLinkIsAsGoodAsNew) {
    detector_.link_lost(kPeer, kStart + 1s);
    detector_.link_restored(kPeer, kStart + 2s);
    EXPECT_EQ(detector_.next_deadline(), kStart + 6s);
}

TEST_F(FailureDetectorTest, AHeartbeatAloneDoesNotRestoreALostLink) {
    detector_.link_lost(kPeer, kStart + 1s);
    detector_.heard(kPeer, kStart + 2s);
    EXPECT_EQ(detector_.judge(kStart + 3s), (Findings{{kPeer, Verdict::Dead}}));
}

TEST_F(FailureDetectorTest, AJudgeThatWasStalledItselfPardonsEverybody) {
    EXPECT_EQ(detector_.judge(kStart + 60s), Findings{});
    EXPECT_EQ(detector_.next_deadline(), kStart + 64s);
}

TEST_F(FailureDetectorTest, NewsOfAnUnknownPeerChangesNothing) {
    detector_.forget(kPeer);
    detector_.heard(kPeer, kStart + 1s);
    detector_.link_lost(kPeer, kStart + 1s);
    detector_.link_restored(kPeer, kStart + 1s);
    EXPECT_EQ(detector_.next_deadline(), kNever);
}

TEST_F(FailureDetectorTest, VerdictsOfOneInstantComeInOrderOfPeer) {
    detector_.watch(kEarlierPeer, kStart);
    EXPECT_EQ(
        detector_.judge(kStart + 4s),
        (Findings{{kEarlierPeer, Verdict::Suspect}, {kPeer, Verdict::Suspect}})
    );
}

}  // namespace
}  // namespace swarm::coordinator
