#include "swarm/cli/common/run_events.hpp"

#include "tests/unit/cli/runs/two_peers.hpp"

#include <gtest/gtest.h>

namespace swarm::cli {
namespace {

using node::PeerChange;
using std::chrono::seconds;
using test::kAnna;
using test::kBert;

TimePoint at_second(int second) {
    return TimePoint(seconds(second));
}

node::PeerChanged changed(PeerId peer, PeerChange change, const char* reason = "") {
    return {peer, {1}, change, reason, {}};
}

class RunEventsTest : public testing::Test {
 protected:
    [[nodiscard]] const RunEvent& last() const { return events.all().back(); }

    RunEvents events;
};

TEST_F(RunEventsTest, OnlyEntriesAfterTheFirstCommitAreJoins) {
    events.changed(changed(kAnna, PeerChange::Admitted), at_second(1));
    events.committed(at_second(2));
    EXPECT_EQ(events.joins(), 0U);
    EXPECT_TRUE(events.all().empty());
    events.changed(changed(kBert, PeerChange::Admitted), at_second(3));
    EXPECT_EQ(events.joins(), 1U);
    EXPECT_EQ(last().kind, RunEventKind::Join);
    EXPECT_FALSE(last().cost) << "nobody saw it start";
}

TEST_F(RunEventsTest, AMemberThatAResumedCoordinatorMeetsAgainDoesNotJoin) {
    events.changed(changed(kAnna, PeerChange::Admitted), at_second(1));
    events.changed(changed(kBert, PeerChange::Admitted), at_second(1));
    events.committed(at_second(2));
    events.kill(kBert, at_second(3));
    events.kill_coordinator(at_second(4));
    events.changed(changed(kAnna, PeerChange::Admitted), at_second(5));
    EXPECT_EQ(events.joins(), 0U);
    events.changed(changed(kBert, PeerChange::Admitted), at_second(6));
    EXPECT_EQ(events.joins(), 1U) << "it is a new process";
}

TEST_F(RunEventsTest, AJoinCostsFromTheStartToTheAdmission) {
    events.committed(at_second(1));
    events.start(kAnna, at_second(2));
    events.start(kBert, at_second(3));
    events.changed(changed(kAnna, PeerChange::Admitted), at_second(7));
    ASSERT_EQ(events.all().size(), 2U);
    EXPECT_EQ(events.all()[0].cost, seconds(5));
    EXPECT_EQ(events.all()[0].stage, StageIndex{1});
    EXPECT_FALSE(events.all()[1].cost);
}

TEST_F(RunEventsTest, AReturnAfterAFenceCostsFromTheFence) {
    events.changed(changed(kAnna, PeerChange::Admitted), at_second(1));
    events.committed(at_second(2));
    events.changed(changed(kAnna, PeerChange::Fenced, "silent for 6 s"), at_second(4));
    events.changed(changed(kAnna, PeerChange::Admitted), at_second(9));
    EXPECT_EQ(last().kind, RunEventKind::Join);
    EXPECT_EQ(last().cost, seconds(5));
    events.changed(changed(kAnna, PeerChange::Fenced, "silent for 6 s"), at_second(20));
    events.changed(changed(kAnna, PeerChange::Admitted), at_second(21));
    EXPECT_EQ(last().cost, seconds(1)) << "a join of its own";
}

TEST_F(RunEventsTest, AMoveEndsWithTheAdmissionAndIsNoJoin) {
    events.committed(at_second(1));
    events.changed(changed(kAnna, PeerChange::Moved, "from stage 0"), at_second(4));
    events.changed(changed(kAnna, PeerChange::Admitted), at_second(10));
    ASSERT_EQ(events.all().size(), 1U);
    EXPECT_EQ(last().kind, RunEventKind::Move);
    EXPECT_EQ(last().reason, "from stage 0");
    EXPECT_EQ(last().cost, seconds(6));
}

TEST_F(RunEventsTest, ADrainEndsWhenThePeerHasLeft) {
    events.drain(kAnna, at_second(1));
    events.changed(changed(kAnna, PeerChange::Left), at_second(3));
    EXPECT_EQ(last().cost, seconds(2));
    events.left(kAnna, at_second(4));
    EXPECT_EQ(last().cost, seconds(2)) << "the coordinator was first";
    events.drain(kBert, at_second(5));
    events.left(kBert, at_second(9));
    EXPECT_EQ(last().cost, seconds(4)) << "no coordinator said so";
    events.changed(changed(kBert, PeerChange::Left), at_second(12));
    EXPECT_EQ(events.all()[1].cost, seconds(4));
}

TEST_F(RunEventsTest, FencesAndEmptyStagesCarryTheirReason) {
    events.changed(changed(kAnna, PeerChange::Fenced, "silent for 6 s"), at_second(1));
    events.changed(changed(kAnna, PeerChange::StageEmpty, "it restarted"), at_second(2));
    EXPECT_EQ(events.count(RunEventKind::Fence, kAnna), 1U);
    EXPECT_EQ(events.count(RunEventKind::Fence, kBert), 0U);
    EXPECT_EQ(events.all()[0].reason, "silent for 6 s");
    EXPECT_EQ(events.all()[1].kind, RunEventKind::StageEmpty);
}

TEST_F(RunEventsTest, ASplitCostsTheTimeToTheNextCommitAndIsNoFault) {
    events.committed(at_second(1));
    events.split("layers 3, 3", at_second(2));
    events.committed(at_second(5));
    events.committed(at_second(6));
    EXPECT_EQ(last().reason, "layers 3, 3");
    EXPECT_EQ(last().cost, seconds(3));
    EXPECT_TRUE(events.recoveries(RunEvents::Faults::All).empty());
}

TEST_F(RunEventsTest, FaultsThatOverlapAreNotAlone) {
    events.kill(kAnna, at_second(1));
    events.freeze(kBert, at_second(2), seconds(3));
    events.committed(at_second(4));
    events.kill(kAnna, at_second(5));
    events.committed(at_second(6));
    events.kill_coordinator(at_second(7));  // the run ended before a commit
    EXPECT_EQ(
        events.recoveries(RunEvents::Faults::All),
        (std::vector<Duration>{seconds(3), seconds(2), seconds(1)})
    );
    EXPECT_EQ(events.recoveries(RunEvents::Faults::Alone), (std::vector<Duration>{seconds(1)}));
}

}  // namespace
}  // namespace swarm::cli
