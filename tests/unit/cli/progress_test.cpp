#include "swarm/cli/common/progress.hpp"

#include <gtest/gtest.h>

namespace swarm::cli {
namespace {

node::StepCommitted step(std::uint64_t number) {
    node::StepCommitted committed{};
    committed.step = number;
    committed.loss = 3.25;
    return committed;
}

TEST(Progress, OneStepThatStoodStillDoesNotChangeTheUsualTime) {
    EXPECT_EQ(usual_seconds({2.0}), 2.0);
    EXPECT_EQ(usual_seconds({2.0, 2.0, 4000.0, 2.0}), 2.0);
    EXPECT_EQ(usual_seconds({0.001, 2.0, 2.1}), 2.0);
}

TEST(Progress, ALineTellsTheTimeThatIsLeftWhenItIsKnown) {
    EXPECT_EQ(
        progress_line(step(11), 60, 5100, 41.0, {2, 2, 1}),
        "step 12/60  loss 3.2500  5100 tokens/s  ETA 0:41  peers 2+2+1"
    );
    EXPECT_EQ(
        progress_line(step(0), 60, 5100, std::nullopt, {}), "step 1/60  loss 3.2500  5100 tokens/s"
    );
}

TEST(Progress, ALongTimeThatIsLeftIsToldInHours) {
    const auto eta = [](double seconds_left) {
        const std::string line = progress_line(step(0), 60, 5100, seconds_left, {});
        return line.substr(line.find("ETA"));
    };
    EXPECT_EQ(eta(59.4), "ETA 0:59");
    EXPECT_EQ(eta(3599.4), "ETA 59:59");
    EXPECT_EQ(eta(3599.6), "ETA 1 h 00 min");
    EXPECT_EQ(eta(3600 * 2.5), "ETA 2 h 30 min");
    EXPECT_EQ(eta(3600 * 100 + 60), "ETA 100 h 01 min");
}

}  // namespace
}  // namespace swarm::cli
