#include "stages/compute/device_queue.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stages {
namespace {

class DeviceQueueTest : public testing::Test {
 protected:
    node::Turn turn() { return {swarm::TimePoint{}, out_}; }

    [[nodiscard]] const node::Compute& compute(std::size_t index) const {
        return std::get<node::Compute>(out_.actions.at(index));
    }

    node::Outbox out_;
    DeviceQueue queue_;
};

TEST_F(DeviceQueueTest, AsksForOneComputePerPieceOfWork) {
    queue_.submit(turn(), 3, [] {});
    queue_.submit(turn(), 4, [] {});
    ASSERT_EQ(out_.actions.size(), 2U);
    EXPECT_NE(compute(0).job, compute(1).job);
    EXPECT_EQ(compute(0).work->work_units(), 3);
    EXPECT_EQ(compute(1).work->work_units(), 4);
}

TEST_F(DeviceQueueTest, RunsNothingByItself) {
    bool ran = false;
    queue_.submit(turn(), 0, [&] { ran = true; });
    EXPECT_FALSE(ran);
    compute(0).work->run();
    EXPECT_TRUE(ran);
}

TEST_F(DeviceQueueTest, HandsTheOutcomeToTheContinuationOnce) {
    std::string got;
    queue_.submit_for<std::string>(
        turn(),
        0,
        [](std::string& outcome) { outcome = "made"; },
        [&](std::string& outcome, node::Turn) { got += outcome; }
    );
    compute(0).work->run();
    EXPECT_EQ(got, "");
    queue_.done(compute(0).job, turn());
    EXPECT_EQ(got, "made");
}

TEST_F(DeviceQueueTest, AsksForAnAnswerOnlyWhereAContinuationFollows) {
    queue_.submit(turn(), 0, [] {});
    queue_.submit(
        turn(), 0, [] {}, [](node::Turn) {}
    );
    EXPECT_FALSE(compute(0).answered);
    EXPECT_TRUE(compute(1).answered);
}

TEST_F(DeviceQueueTest, LetsAContinuationSubmitMore) {
    queue_.submit(
        turn(), 0, [] {}, [this](node::Turn later) { queue_.submit(later, 7, [] {}); }
    );
    queue_.done(compute(0).job, turn());
    ASSERT_EQ(out_.actions.size(), 2U);
    EXPECT_EQ(compute(1).work->work_units(), 7);
}

TEST_F(DeviceQueueTest, FreesWhatTheWorkHeldOnceItRan) {
    auto held = std::make_shared<int>(1);
    queue_.submit(turn(), 0, [held] {});
    EXPECT_EQ(held.use_count(), 2);
    compute(0).work->run();
    EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace stages
