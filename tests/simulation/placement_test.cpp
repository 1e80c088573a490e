// Which stage the coordinator gives to whom.
#include "sim/run/run_world.hpp"

#include <gtest/gtest.h>

namespace sim {
namespace {

using namespace std::chrono_literals;

RunWorldOptions long_run() {
    RunWorldOptions options;
    options.config = oracle_config(2, 3, 400);
    options.peers = 4;
    return options;
}

TEST(Placement, SpreadsTheFirstPeersEvenly) {
    RunWorld run(long_run());
    run.world().run_until([&] { return run.steps().size() == 1; }, 60s);
    EXPECT_EQ(
        run.coordinator_role()->context().roster.peers_per_stage(),
        (std::vector<std::uint32_t>{2, 2})
    );
}

TEST(Placement, AFencedPeerReturnsToTheStageThatMissesIt) {
    RunWorld run(long_run());
    run.world().run_until([&] { return run.steps().size() == 1; }, 60s);
    run.world().freeze(peer(4));
    run.world().run_for(8s);
    run.world().thaw(peer(4));
    run.world().run_for(10s);
    EXPECT_EQ(
        run.coordinator_role()->context().roster.peers_per_stage(),
        (std::vector<std::uint32_t>{2, 2})
    );
}

TEST(Placement, AJoinerReplacesAPeerWhoseDeathIsNotCertainYet) {
    RunWorld run(long_run());
    run.world().run_until([&] { return run.steps().size() == 1; }, 60s);
    const swarm::StageIndex stage = run.server(peer(2))->context().stage();
    run.world().crash(peer(2));
    run.world().run_for(500ms);
    const PeerId joiner = run.add_server();
    run.world().run_for(10s);
    EXPECT_EQ(run.server(joiner)->context().stage(), stage);
}

}  // namespace
}  // namespace sim
