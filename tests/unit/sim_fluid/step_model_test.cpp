#include "sim/fluid/step_model.hpp"

#include "tests/unit/sim_fluid/fluid_fixture.hpp"

#include <gtest/gtest.h>

namespace sim {
namespace {

using test::FluidFixture;

class StepModelTest : public testing::Test {
 protected:
    /// The fixture's peers in turn.
    StepModel& start() {
        const Pipeline& pipeline = fixture_.scenario.pipeline;
        policy_ = router::make_policy(pipeline.policy, 1);
        stages_.assign(pipeline.stages, StageFlow(*policy_));
        for (const FleetPeer& peer : fixture_.schedule.fleet) {
            const std::uint32_t stage = (peer.number - 1) % pipeline.stages;
            stages_[stage].add({peer.number}, peer.number, flow_of(peer, 1, pipeline, stage));
        }
        model_.emplace(fixture_.scenario, fixture_.schedule.fleet, 1);
        model_->set_stages(stages_);
        return *model_;
    }

    FluidFixture fixture_;
    std::unique_ptr<router::Policy> policy_;
    std::vector<StageFlow> stages_;
    std::optional<StepModel> model_;
};

TEST_F(StepModelTest, OnePeerPerStageHasTheBubbleOf1F1B) {
    fixture_ = FluidFixture(8, 8);
    fixture_.scenario.pipeline.microbatches = 16;
    EXPECT_DOUBLE_EQ(start().run(16), 16 + 8 - 1 + 0.005);
}

TEST_F(StepModelTest, LatencyIsPaidOnTheWayUpAndDownAndToCommit) {
    fixture_ = FluidFixture(2, 2);
    fixture_.scenario.pipeline.microbatches = 1;
    fixture_.scenario.regions.latency = {{std::chrono::seconds(1)}};
    // Out, a forward, up, the tail; then PATH, REDUCE, and REDUCED.
    EXPECT_NEAR(start().run(1), 1 + 1 / 3.0 + 1 + 1 + 3 + 0.005, 1e-6);
}

TEST_F(StepModelTest, TwoLinesCarryATensorAtOnce) {
    fixture_ = FluidFixture(2, 2);
    fixture_.scenario.pipeline.microbatches = 1;
    fixture_.scenario.pipeline.activation_bytes = 100;
    for (FleetPeer& peer : fixture_.schedule.fleet) {
        peer.up_bytes_per_s = 100;
        peer.down_bytes_per_s = 50;
    }
    EXPECT_DOUBLE_EQ(start().run(1), 2 + 2 * 2 + 0.005);
}

TEST_F(StepModelTest, ReplicasSwapSumsAndValues) {
    fixture_.scenario.pipeline.microbatches = 4;
    const double alone_s = start().run(4);
    fixture_.scenario.pipeline.state_bytes = 12 * 1'000;
    for (FleetPeer& peer : fixture_.schedule.fleet) {
        peer.up_bytes_per_s = 1'000;
        peer.down_bytes_per_s = 1'000;
    }
    // Half of 1,000 parameters: 3.3 bytes for each sum and 4 for each value.
    EXPECT_NEAR(start().run(4), alone_s + 500 * 7.3 / 1'000, 1e-6);
    fixture_.schedule.fleet[0].down_bytes_per_s = 500;
    fixture_.schedule.fleet[2].down_bytes_per_s = 500;
    EXPECT_NEAR(start().run(4), alone_s + 500 * 7.3 / 500, 1e-6) << "the slowest line decides";
}

TEST_F(StepModelTest, TheLastTensorsAreSlowBesideSums) {
    fixture_ = FluidFixture(2, 2);
    fixture_.add_peer(3);
    fixture_.scenario.pipeline.microbatches = 2;
    fixture_.scenario.pipeline.activation_bytes = 100;
    fixture_.scenario.pipeline.state_bytes = 12 * 200;
    for (const std::uint32_t peer : {0U, 2U}) {  // both of stage 0; the other's line has no bound
        fixture_.schedule.fleet[peer].up_bytes_per_s = 100;
        fixture_.schedule.fleet[peer].down_bytes_per_s = 100;
    }
    // A forward, its tensor, and the tail, twice. Two thirds of the last gradient are there when
    // the other member begins to send sums; the rest takes twice as long.
    const double gradients_s = 1 / 3.0 + 1 + 2 + (2 / 3.0 + 2 / 3.0) + 2 / 3.0;
    EXPECT_NEAR(start().run(2), gradients_s + 3.3 + 4 + 0.005, 1e-6);
}

TEST_F(StepModelTest, AnExchangeOfModeSparseCountsInEachStep) {
    fixture_.scenario.pipeline.microbatches = 4;
    const double alone_s = start().run(4);
    fixture_.scenario.pipeline.state_bytes = 12 * 4'096;
    fixture_.scenario.pipeline.mode = swarm::run::SyncMode::Sparse;
    fixture_.scenario.pipeline.sync_every = 4;
    for (FleetPeer& peer : fixture_.schedule.fleet) {
        peer.up_bytes_per_s = 100;
    }
    // A share has 4 bytes and 116 for each 4,096 parameters; the record takes 5 ms.
    EXPECT_NEAR(start().run(4), alone_s + (1.2 + 0.005) / 4, 1e-6);
}

TEST_F(StepModelTest, ReplicasQueueAtRandomSoAStepTakesLongerThanTheFlow) {
    fixture_ = FluidFixture(32, 4);
    fixture_.scenario.pipeline.microbatches = 64;
    const double flow_s = 64 / 8.0 + 4 - 1;
    EXPECT_GT(start().run(64), 1.1 * flow_s);
}

TEST_F(StepModelTest, QueuesAreTheOffersOfSenders) {
    StepModel& model = start();
    model.run(10);
    double queued = 0;
    for (std::uint32_t number = 1; number <= 4; ++number) {
        queued += model.queued(number);
    }
    EXPECT_GT(queued, 2);
    EXPECT_LT(queued, 10);
}

TEST_F(StepModelTest, RepeatsItself) {
    fixture_ = FluidFixture(16, 4);
    fixture_.scenario.pipeline.microbatches = 128;
    const double first_s = start().run(32);
    EXPECT_EQ(start().run(32), first_s);
}

}  // namespace
}  // namespace sim
