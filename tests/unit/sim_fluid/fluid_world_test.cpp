#include "sim/fluid/fluid_world.hpp"

#include "tests/unit/sim_fluid/fluid_fixture.hpp"

#include <gtest/gtest.h>

namespace sim {
namespace {

using test::at_s;
using test::FluidFixture;
using Kind = Happening::Kind;
using Counts = std::vector<std::uint32_t>;

/// Carries out the fixture's happenings and their consequences, until then.
void run_until(FluidWorld& world, const Schedule& schedule, std::size_t& next, double seconds) {
    const auto happens = [&] {
        return next < schedule.happenings.size() ? schedule.happenings[next].at : swarm::kNever;
    };
    for (;;) {
        const TimePoint at = std::min(happens(), world.next_own_event());
        if (at > at_s(seconds)) {
            break;
        }
        world.flow_until(at);
        if (world.next_own_event() <= at) {
            world.carry_out_own_event();
        } else {
            world.carry_out(schedule.happenings[next++]);
        }
    }
    world.flow_until(at_s(seconds));
}

class FluidWorldTest : public testing::Test {
 protected:
    FluidWorld& start() {
        world_.emplace(fixture_.scenario, fixture_.schedule, 1);
        world_->start();
        return *world_;
    }

    FluidWorld& until(double seconds) {
        run_until(*world_, fixture_.schedule, next_, seconds);
        return *world_;
    }

    Counts peers() { return world_->roster().peers_per_stage(); }

    FluidFixture fixture_;
    std::optional<FluidWorld> world_;
    std::size_t next_ = 0;
};

TEST_F(FluidWorldTest, FlowsAtTheRateOfTheNarrowestStage) {
    fixture_.add_peer(3);
    start();
    EXPECT_EQ(peers(), (Counts{3, 2}));
    EXPECT_DOUBLE_EQ(world_->flow_within_step(), 2);
    EXPECT_NEAR(world_->flow(), 1'000 / (1'000 / 2.0 + 1 + 0.005), 0.01);
    EXPECT_NEAR(until(10).totals().microbatches, 10 * world_->flow(), 1e-9);
}

TEST_F(FluidWorldTest, OnePeerPerStageHasTheBubbleOf1F1B) {
    fixture_ = FluidFixture(8, 8);
    fixture_.scenario.pipeline.microbatches = 16;
    start();
    const double commit_s = 0.005;
    EXPECT_DOUBLE_EQ(16 / world_->flow(), 16 + 8 - 1 + commit_s);
}

TEST_F(FluidWorldTest, AStepOfOneMicrobatchTakesItsWay) {
    fixture_ = FluidFixture(20);
    fixture_.scenario.pipeline.microbatches = 1;
    start();
    EXPECT_DOUBLE_EQ(1 / world_->flow(), 2 + 0.005);
}

TEST_F(FluidWorldTest, MicrobatchesInFlightWaitWhereThePipelineIsNarrowest) {
    fixture_.add_peer(3);
    start();
    EXPECT_LT(world_->queued(0), 10);
    EXPECT_GT(world_->queued(1), 80);
    EXPECT_LT(world_->queued(0) + world_->queued(1), 100);
}

TEST_F(FluidWorldTest, AtMostTheWindowWaits) {
    fixture_.scenario.pipeline.in_flight = 2;
    start();
    EXPECT_DOUBLE_EQ(world_->flow_within_step(), 1);  // two in flight, two seconds of work
    EXPECT_GT(world_->queued(0) + world_->queued(1), 1);
    EXPECT_LT(world_->queued(0) + world_->queued(1), 2);
}

TEST_F(FluidWorldTest, LatencyTakesItsPartOfTheWindow) {
    fixture_.scenario.pipeline.in_flight = 4;
    fixture_.scenario.regions.latency = {{std::chrono::milliseconds(500)}};
    start();
    EXPECT_DOUBLE_EQ(
        world_->flow_within_step(), 1
    );  // four hops of half a second, two seconds of work
}

TEST_F(FluidWorldTest, ACrashedPeerIsMissedUntilItIsBackWithTheState) {
    fixture_.scenario.pipeline.microbatches = 4;  // so that a commit comes every few seconds
    fixture_.scenario.pipeline.state_bytes = 1'000;
    for (FleetPeer& peer : fixture_.schedule.fleet) {
        peer.down_bytes_per_s = 100;
        peer.up_bytes_per_s = 50;  // the slower line: 845 bytes as byte planes take 16.9 s
    }
    fixture_.happens(10, 1, Kind::Crash);
    fixture_.happens(30, 1, Kind::Join);
    start();
    EXPECT_DOUBLE_EQ(until(9).flow_within_step(), 2);
    EXPECT_DOUBLE_EQ(until(11).flow_within_step(), 1);
    EXPECT_DOUBLE_EQ(until(47).flow_within_step(), 1);
    const double before = world_->totals().bytes;
    EXPECT_DOUBLE_EQ(until(58).flow_within_step(), 2);
    EXPECT_GE(world_->totals().bytes - before, 845) << "and what reductions send";
}

/// Two stages of 20 peers; the fault strikes a tenth of a second before the first commit.
class ALossLateInAStep : public FluidWorldTest {
 protected:
    /// Returns the seconds by which the fault delays the commit.
    double delay_s(std::uint32_t peer, Kind kind) {
        const double without_s = first_commit_s();
        fixture_.happens(without_s - 0.1, peer, kind);
        const double with_s = first_commit_s();
        fixture_.schedule.happenings.clear();
        return with_s - without_s;
    }

    double first_commit_s() {
        fixture_.scenario.pipeline.microbatches = 400;
        next_ = 0;
        start();
        double at = 0;
        while (until(at).totals().microbatches < 400) {
            at += 0.01;
        }
        return at;
    }
};

// Two seconds until the loss is certain; then a forward in each stage, and a backward in the last.
TEST_F(ALossLateInAStep, WaitsForReplays) {
    fixture_ = FluidFixture(40, 2);
    EXPECT_NEAR(delay_s(2, Kind::Crash), 2 + 1 / 3.0 + 1, 0.4);
    EXPECT_NEAR(delay_s(1, Kind::Crash), 2 + 1 + 1, 0.4) << "a backward in both stages";
}

TEST_F(ALossLateInAStep, IsNoneWhenAPeerLeavesInOrder) {
    fixture_ = FluidFixture(40, 2);
    EXPECT_NEAR(delay_s(2, Kind::Leave), 0, 0.1);
}

TEST_F(FluidWorldTest, TwoDownloadersOfOneDonorShareItsLine) {
    fixture_ = FluidFixture(2);
    fixture_.scenario.pipeline.microbatches = 4;
    fixture_.scenario.pipeline.state_bytes = 1'000;
    fixture_.schedule.fleet[0].up_bytes_per_s = 100;
    fixture_.schedule.fleet[1].up_bytes_per_s = 100;
    for (std::uint32_t number = 3; number <= 6; ++number) {
        fixture_.add_peer(3, false);
        fixture_.happens(10, number, Kind::Join);
    }
    start();
    until(18);
    EXPECT_EQ(peers(), (Counts{1, 1}));
    until(24);  // a commit, and 845 bytes in 8.45 seconds
    EXPECT_EQ(peers(), (Counts{2, 2}));
    until(37);
    EXPECT_EQ(peers(), (Counts{3, 3}));
}

/// One peer per stage and a newcomer; the last stage sends one tensor of 100 bytes per microbatch,
/// which take a second of its donor's line.
class ADownloadBesideTensors : public FluidWorldTest {
 protected:
    ADownloadBesideTensors() {
        fixture_ = FluidFixture(2);
        fixture_.scenario.pipeline.microbatches = 20;
        fixture_.scenario.pipeline.in_flight = 10;
        fixture_.scenario.pipeline.activation_bytes = 100;
        fixture_.scenario.pipeline.state_bytes = 12'000;
        fixture_.add_peer(3, false);
        fixture_.happens(1, 3, Kind::Join);
    }

    void bound_lines(std::uint64_t bytes_per_s) {
        for (FleetPeer& peer : fixture_.schedule.fleet) {
            peer.up_bytes_per_s = bytes_per_s;
        }
    }

    /// Seconds from the commit at which the download begins to the newcomer's admission.
    double download_s() {
        start();
        double began = 0;
        while (until(began).totals().microbatches < 20) {
            began += 0.1;
        }
        double at = began;
        while (until(at).roster().peers_per_stage()[0] < 2 && at < 10'000) {
            at += 0.1;
        }
        return at - began;
    }
};

TEST_F(ADownloadBesideTensors, HasWhatTheyLeave) {
    bound_lines(400);  // tensors use nearly a quarter of the line, and each has half at least
    EXPECT_NEAR(download_s(), 10'140 / (400 * 0.77), 1);
}

TEST_F(ADownloadBesideTensors, HasAnEqualShareOfALineThatIsTooSlowForBoth) {
    bound_lines(100);
    EXPECT_NEAR(download_s(), 10'140 / (100 * 0.5), 10);
    EXPECT_DOUBLE_EQ(world_->flow_within_step(), 1) << "afterwards the line is the tensors' again";
}

TEST_F(ADownloadBesideTensors, SlowsTheirFlow) {
    bound_lines(100);
    start();
    EXPECT_DOUBLE_EQ(until(10).flow_within_step(), 1);
    EXPECT_DOUBLE_EQ(until(60).flow_within_step(), 0.5);
}

TEST_F(ADownloadBesideTensors, IsAsShortAsItsPaceWhereLinesHaveNoBound) {
    EXPECT_LT(download_s(), 0.5);
    EXPECT_DOUBLE_EQ(world_->flow_within_step(), 1);
}

TEST_F(FluidWorldTest, ANewcomersWorkBeginsWithTheNextStepIfThisOneIsUnderWay) {
    fixture_ = FluidFixture(3);
    fixture_.scenario.pipeline.microbatches = 20;
    fixture_.add_peer(3, false);
    fixture_.happens(1, 4, Kind::Join);
    for (const std::uint32_t in_flight : {20, 10}) {
        fixture_.scenario.pipeline.in_flight = in_flight;
        next_ = 0;
        start();
        until(22);  // the first step took 21 s, and the newcomer has its state
        EXPECT_EQ(peers(), (in_flight == 20 ? Counts{2, 1} : Counts{2, 2}));
        EXPECT_EQ((until(43), peers()), (Counts{2, 2}));
    }
}

TEST_F(FluidWorldTest, ANewcomerWithTheStateTakesOverFromTheLastOfItsStage) {
    fixture_ = FluidFixture(2);
    fixture_.scenario.churn.spares_last = false;
    fixture_.scenario.pipeline.microbatches = 20;
    fixture_.add_peer(3, false);
    fixture_.happens(1, 3, Kind::Join);
    fixture_.happens(30, 1, Kind::Crash);
    start();
    EXPECT_EQ((until(29), peers()), (Counts{1, 1})) << "it has its state, and waits for a commit";
    EXPECT_EQ((until(31), peers()), (Counts{1, 1}));
    EXPECT_DOUBLE_EQ(world_->flow_within_step(), 1);
}

TEST_F(FluidWorldTest, TheLastOfAStageIsSparedIfTheScenarioSaysSo) {
    fixture_ = FluidFixture(2);
    fixture_.happens(10, 1, Kind::Crash);
    start();
    EXPECT_DOUBLE_EQ(until(20).flow_within_step(), 1);
    EXPECT_EQ(world_->notes().at(0).kind, NoteKind::Spared);
}

TEST_F(FluidWorldTest, WithoutAPeerInAStageNothingFlows) {
    fixture_ = FluidFixture(2);
    fixture_.scenario.churn.spares_last = false;
    fixture_.happens(10, 1, Kind::Crash);
    fixture_.happens(20, 1, Kind::Join);
    start();
    EXPECT_EQ(until(15).flow_within_step(), 0);
    EXPECT_DOUBLE_EQ(until(25).flow_within_step(), 1);  // from a checkpoint
}

TEST_F(FluidWorldTest, AShortFreezeCostsItsTimeAndALongOneTheSlot) {
    fixture_.scenario.pipeline.microbatches = 4;
    fixture_.happens(10, 1, Kind::Freeze);
    fixture_.happens(13, 1, Kind::Thaw);
    fixture_.happens(20, 1, Kind::Freeze);
    fixture_.happens(40, 1, Kind::Thaw);
    start();
    EXPECT_DOUBLE_EQ(until(12).flow_within_step(), 1);
    EXPECT_EQ(peers(), (Counts{2, 2}));
    EXPECT_DOUBLE_EQ(until(14).flow_within_step(), 2);
    EXPECT_EQ((until(25), peers()), (Counts{2, 2}));
    EXPECT_EQ((until(27), peers()), (Counts{1, 2}));
    EXPECT_DOUBLE_EQ(until(50).flow_within_step(), 2);
}

TEST_F(FluidWorldTest, ASlowedPeerHasASmallerShare) {
    fixture_.happens(10, 1, Kind::SlowDown, 0.5);
    fixture_.happens(20, 1, Kind::SpeedBack);
    start();
    EXPECT_DOUBLE_EQ(until(15).flow_within_step(), 1.5);
    EXPECT_DOUBLE_EQ(until(25).flow_within_step(), 2);
}

TEST_F(FluidWorldTest, AMachineIsAsSlowAfterItsReturnUntilItsSpeedIsBack) {
    fixture_.scenario.pipeline.microbatches = 8;
    fixture_.scenario.pipeline.in_flight = 7;
    fixture_.happens(10, 1, Kind::SlowDown, 0.5);
    fixture_.happens(20, 1, Kind::Crash);
    fixture_.happens(30, 1, Kind::Join);
    fixture_.happens(40, 1, Kind::Crash);
    fixture_.happens(50, 1, Kind::SpeedBack);
    fixture_.happens(60, 1, Kind::Join);
    start();
    EXPECT_DOUBLE_EQ(until(39).flow_within_step(), 1.5);
    EXPECT_DOUBLE_EQ(until(75).flow_within_step(), 2);
}

TEST_F(FluidWorldTest, AFrozenPeerThatIsSparedGoesOn) {
    fixture_.happens(10, 3, Kind::Leave);
    fixture_.happens(20, 1, Kind::Freeze);
    fixture_.happens(22, 1, Kind::Crash);  // the last of its stage, and no Thaw follows
    start();
    EXPECT_DOUBLE_EQ(until(25).flow_within_step(), 1);
}

TEST_F(FluidWorldTest, ADownloadThatWouldOverflowLastsAsLongAsAnything) {
    fixture_.scenario.pipeline.state_bytes = 15'000'000'000;
    fixture_.schedule.fleet[0].down_bytes_per_s = 1;
    fixture_.happens(10, 1, Kind::Crash);
    fixture_.happens(20, 1, Kind::Join);
    start();
    EXPECT_EQ((until(1e6), peers()), (Counts{1, 2}));
}

TEST_F(FluidWorldTest, ARebalancersMoveTakesThePeerOutUntilItHasTheState) {
    fixture_ = FluidFixture(6);
    fixture_.scenario.pipeline.microbatches = 100;  // 100 s a step
    fixture_.scenario.pipeline.in_flight = 50;
    fixture_.scenario.pipeline.rebalancer = "swarm-alg2";
    fixture_.scenario.pipeline.state_bytes = 1'000;
    for (FleetPeer& peer : fixture_.schedule.fleet) {
        peer.down_bytes_per_s = 100;
        peer.units_per_s = peer.number % 2 == 1 ? 1 : 3;  // so the first stage is the narrow one
    }
    start();
    until(50);
    world_->rebalance();
    EXPECT_EQ(world_->notes().back().text.substr(7), "from stage 1 to 0");
    EXPECT_EQ(world_->moves(), 0U);
    EXPECT_EQ((until(150), peers()), (Counts{3, 2}));  // it leaves at a commit
    EXPECT_EQ(world_->moves(), 1U);
    EXPECT_EQ((until(300), peers()), (Counts{4, 2}));  // and downloads from the next
}

TEST_F(FluidWorldTest, NewcomersOfOneMomentDoNotAllGoWhereTheQueueIs) {
    fixture_ = FluidFixture(6);
    fixture_.scenario.pipeline.microbatches = 4;
    fixture_.scenario.pipeline.rebalancer = "swarm-alg2";
    fixture_.happens(10, 1, Kind::Leave);
    fixture_.happens(10, 3, Kind::Leave);  // 1 and 3: the queue is at the first
    for (std::uint32_t number = 7; number <= 12; ++number) {
        fixture_.add_peer(3, false);
        fixture_.happens(20, number, Kind::Join);
    }
    start();
    EXPECT_EQ((until(40), peers()), (Counts{5, 5}));
}

TEST_F(FluidWorldTest, QueuesOfAPeriodAreMeansNotThoseAtItsEnd) {
    fixture_ = FluidFixture(7);  // 4 and 3
    fixture_.scenario.pipeline.rebalancer = "swarm-alg2";
    fixture_.happens(90, 1, Kind::Leave);
    fixture_.happens(90, 3, Kind::Leave);  // now 2 and 3, but most of the period 4 and 3
    start();
    until(100);
    EXPECT_EQ(peers(), (Counts{2, 3}));
    world_->rebalance();
    EXPECT_EQ(world_->notes().back().text.substr(7), "from stage 0 to 1");
}

TEST_F(FluidWorldTest, ReductionsSlowTheFlow) {
    fixture_.scenario.pipeline.microbatches = 100;
    start();
    until(10);
    const double free = world_->flow();
    fixture_.scenario.pipeline.state_bytes = 12 * 10'000;
    for (FleetPeer& peer : fixture_.schedule.fleet) {
        peer.up_bytes_per_s = 1'000;
        peer.down_bytes_per_s = 1'000;
    }
    start();
    until(10);
    EXPECT_NEAR(100 / world_->flow() - 100 / free, 5'000 * 7.3 / 1'000, 0.5);
    fixture_.scenario.pipeline.mode = swarm::run::SyncMode::Sparse;
    start();
    until(10);
    EXPECT_NEAR(100 / world_->flow() - 100 / free, 10'000 * 116 / 4096.0 / 1'000 / 8, 0.1);
}

TEST_F(FluidWorldTest, BytesAreTwoTensorsPerBoundary) {
    fixture_.scenario.pipeline.activation_bytes = 10;
    start();
    until(100);
    EXPECT_NEAR(world_->totals().bytes, world_->totals().microbatches * 2 * 10, 1e-6);
}

}  // namespace
}  // namespace sim
