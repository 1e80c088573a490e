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

TEST_F(StepModelTest, ATensorTakesTwoLines) {
    fixture_ = FluidFixture(2, 2);
    fixture_.scenario.pipeline.microbatches = 1;
    fixture_.scenario.pipeline.activation_bytes = 100;
    for (FleetPeer& peer : fixture_.schedule.fleet) {
        peer.up_bytes_per_s = 100;
        peer.down_bytes_per_s = 50;
    }
    EXPECT_DOUBLE_EQ(start().run(1), 2 + 2 * (1 + 2) + 0.005);
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
