// A run without faults, and with the simplest ones, equals one process bit for bit.
#include "sim/run/run_world.hpp"
#include "swarm/node/frame_size.hpp"
#include "tests/simulation/runs.hpp"

#include <gtest/gtest.h>

namespace sim {
namespace {

using namespace std::chrono_literals;

RunWorldOptions small_run() {
    RunWorldOptions options;
    options.config = oracle_config(2, 3, 3);
    options.peers = 4;
    return options;
}

TEST(ExactlyOnce, ACleanRunEqualsOneProcess) {
    const RunWorldOptions options = small_run();
    RunWorld run(options);
    run.run(120s);
    EXPECT_EQ(run.verdict(train_single(options.config)), "") << log_of(run);
    EXPECT_EQ(run.replayed(), 0U);
    EXPECT_EQ(run.fenced(), 0U);
}

TEST(ExactlyOnce, EachStepReportsTheBytesOfItsLegsBetweenServers) {
    const RunWorldOptions options = small_run();
    RunWorld run(options);
    std::uint64_t sent = 0;
    run.observe_sends([&](PeerId from, const node::Send& send) {
        const bool is_leg = std::holds_alternative<swarm::protocol::Forward>(send.message.body) ||
                            std::holds_alternative<swarm::protocol::Backward>(send.message.body);
        if (is_leg && from != RunWorld::coordinator()) {
            sent += node::frame_bytes(send.message, send.payload);
        }
    });
    run.run(120s);
    std::uint64_t reported = 0;
    for (const node::StepCommitted& step : run.steps()) {
        reported += step.wire_bytes.value_or(0);
    }
    EXPECT_EQ(reported, sent);
    EXPECT_GT(sent, 0U);
}

TEST(ExactlyOnce, OneStageAndOnePeerAreARunToo) {
    RunWorldOptions options;
    options.config = oracle_config(1, 4, 3);
    options.peers = 1;
    RunWorld run(options);
    run.run(120s);
    EXPECT_EQ(run.verdict(train_single(options.config)), "") << log_of(run);
}

TEST(ExactlyOnce, ThreeStagesOfThreePeersEqualOneProcess) {
    RunWorldOptions options;
    options.config = oracle_config(3, 8, 5);
    options.peers = 9;
    RunWorld run(options);
    run.run(120s);
    EXPECT_EQ(run.verdict(train_single(options.config)), "") << log_of(run);
}

TEST(ExactlyOnce, AKilledPeerThatComesBackChangesNothing) {
    RunWorldOptions options = small_run();
    options.config.steps = 6;
    RunWorld run(options);
    run.world().run_until([&] { return run.steps().size() == 2; }, 60s);
    run.world().crash(peer(1));
    run.world().run_for(2s);
    run.world().restart(peer(1));
    run.run(120s);
    EXPECT_EQ(run.verdict(train_single(options.config)), "") << log_of(run);
}

TEST(ExactlyOnce, AFrozenPeerIsFencedAndReturnsInANewSlot) {
    RunWorldOptions options = small_run();
    options.config.steps = 200;
    RunWorld run(options);
    run.world().run_until([&] { return run.steps().size() == 2; }, 60s);
    run.world().freeze(peer(2));
    run.world().run_for(8s);
    run.world().thaw(peer(2));
    run.run(300s);
    EXPECT_EQ(run.verdict(train_single(options.config)), "") << log_of(run);
    EXPECT_EQ(run.fenced(), 1U) << log_of(run);
    ASSERT_NE(run.server(peer(2)), nullptr);
    EXPECT_TRUE(run.server(peer(2))->context().slot.has_value()) << log_of(run);
}

// The REDUCE reaches one peer after the parts of all others, which are more than a small stage may
// keep.
TEST(ExactlyOnce, AMemberOfALargeStageKeepsThePartsThatComeBeforeItsReduce) {
    RunWorldOptions options;
    options.config = oracle_config(1, 200, 2);
    options.peers = 150;
    RunWorld run(options);
    run.world().run_until(
        [&] {
            const auto* const role = run.coordinator_role();
            return role && role->step().phase() == swarm::coordinator::StepMachine::Phase::Reducing;
        },
        60s
    );
    run.world().block(RunWorld::coordinator(), peer(7));
    run.world().run_for(1s);
    run.world().unblock(RunWorld::coordinator(), peer(7));
    run.run(60s);
    EXPECT_EQ(run.verdict(train_single(options.config)), "") << log_of(run);
    ASSERT_FALSE(run.steps().empty());
    EXPECT_LT(run.steps().front().took, 8s) << "the reduction was begun again";
}

TEST(ExactlyOnce, AJoinerTakesTheDeadPeersStage) {
    RunWorldOptions options = small_run();
    options.config.steps = 100;
    RunWorld run(options);
    run.world().run_until([&] { return run.steps().size() == 2; }, 60s);
    const swarm::StageIndex stage = run.server(peer(3))->context().stage();
    run.world().crash(peer(3));
    run.world().run_for(3s);
    const PeerId joiner = run.add_server();
    run.run(300s);
    EXPECT_EQ(run.verdict(train_single(options.config)), "") << log_of(run);
    EXPECT_EQ(run.server(joiner)->context().stage(), stage);
    EXPECT_TRUE(run.server(joiner)->context().slot.has_value()) << log_of(run);
}

}  // namespace
}  // namespace sim
