#include "stages/worker/kept_graphs.hpp"

#include "tests/unit/stages/small_models.hpp"

#include <gtest/gtest.h>

#include <map>

namespace stages {
namespace {

/// The first stage of two, with forwards of microbatches 0, 1, 2, ... in this order.
class KeptGraphsTest : public testing::Test {
 protected:
    KeptGraphsTest() : worker_(test::make_worker(config_, test::make_noise_compute, 0)) {}

    void forward_all() {
        for (std::uint32_t id = 0; id < config_.microbatches; ++id) {
            forward(id);
        }
    }

    void forward(std::uint32_t id) {
        outputs_[id] = *worker_->forward(test::leg_of(config_, id), Graph::Keep);
    }

    Result<Payload> backward(std::uint32_t id) {
        auto leg = test::leg_of(config_, id);
        leg.input = outputs_.at(id);  // any tensor of this shape will do
        return worker_->backward(leg);
    }

    /// Runs every backward and returns the hash of the step's result.
    swarm::Digest result_of_all_backwards() {
        for (std::uint32_t id = 0; id < config_.microbatches; ++id) {
            EXPECT_TRUE(backward(id)) << id;
            worker_->accumulate(test::leg_of(config_, id).key);
        }
        worker_->begin_result(0, Slices(worker_->extended_elements(), 1));
        worker_->finish_slice(0);
        return worker_->summarise_result().hash;
    }

    swarm::run::RunConfig config_ = test::small_run(2);
    std::unique_ptr<StageWorker> worker_;
    std::map<std::uint32_t, Payload> outputs_;
};

TEST_F(KeptGraphsTest, WithoutABoundNothingIsComputedAgain) {
    forward_all();
    result_of_all_backwards();
    EXPECT_EQ(worker_->recomputed(), 0U);
}

TEST_F(KeptGraphsTest, AGraphWithoutRoomIsComputedAgainToTheSameBits) {
    forward_all();
    const swarm::Digest expected = result_of_all_backwards();
    for (std::uint32_t fit = 0; fit <= config_.microbatches; ++fit) {
        worker_ = test::make_worker(config_, test::make_noise_compute, 0);
        worker_->set_graph_room(fit * test::kNoiseGraphBytes);
        forward_all();
        EXPECT_EQ(result_of_all_backwards(), expected) << fit;
        EXPECT_EQ(worker_->recomputed(), config_.microbatches - fit);
    }
}

TEST_F(KeptGraphsTest, TheNewestGraphIsDroppedFirst) {
    worker_->set_graph_room(2 * test::kNoiseGraphBytes);
    forward_all();
    EXPECT_TRUE(backward(0));
    EXPECT_TRUE(backward(1));
    EXPECT_EQ(worker_->recomputed(), 0U);
    EXPECT_TRUE(backward(2));
    EXPECT_EQ(worker_->recomputed(), 1U);
}

TEST_F(KeptGraphsTest, ABackwardMakesRoomForTheNextForward) {
    worker_->set_graph_room(test::kNoiseGraphBytes);
    for (const std::uint32_t id : {0U, 1U, 2U}) {
        forward(id);
        EXPECT_TRUE(backward(id));
    }
    EXPECT_EQ(worker_->recomputed(), 0U);
}

TEST_F(KeptGraphsTest, ASmallerRoomTakesEffectAtOnce) {
    worker_->set_graph_room(3 * test::kNoiseGraphBytes);
    forward(0);
    forward(1);
    worker_->set_graph_room(test::kNoiseGraphBytes);
    EXPECT_TRUE(backward(0));
    EXPECT_EQ(worker_->recomputed(), 0U);
    EXPECT_TRUE(backward(1));
    EXPECT_EQ(worker_->recomputed(), 1U);
}

TEST_F(KeptGraphsTest, ADroppedForwardLeavesItsRoomToOthers) {
    worker_->set_graph_room(test::kNoiseGraphBytes);
    forward(0);
    worker_->drop_graph(test::leg_of(config_, 0).key);
    forward(1);
    EXPECT_TRUE(backward(1));
    worker_->drop_all_graphs();
    forward(2);
    EXPECT_TRUE(backward(2));
    EXPECT_EQ(worker_->recomputed(), 0U);
}

TEST_F(KeptGraphsTest, ARepeatedForwardTakesItsRoomOnce) {
    worker_->set_graph_room(2 * test::kNoiseGraphBytes);
    forward(0);
    forward(0);
    forward(1);
    EXPECT_TRUE(backward(0));
    EXPECT_TRUE(backward(1));
    EXPECT_EQ(worker_->recomputed(), 0U);
}

}  // namespace
}  // namespace stages
