// No role compares its clock with another's: clocks that disagree change nothing.
#include "sim/run/run_world.hpp"

#include <gtest/gtest.h>

#include <string>

namespace sim {
namespace {

using namespace std::chrono_literals;

RunWorldOptions clocked(swarm::Duration offset, double drift_ppm) {
    RunWorldOptions options;
    options.config = oracle_config(2, 6, 5);
    options.peers = 4;
    options.peer.device.units_per_s = 20;
    options.peer.clock_offset = offset;
    options.peer.clock_drift_ppm = drift_ppm;
    return options;
}

/// Runs with a crash, a freeze and lost links on the way.
void run_troubled(RunWorld& run) {
    World& world = run.world();
    world.set_frame_loss(1, 200);
    world.run_for(4s);
    world.crash(peer(1));
    world.run_for(1s);
    world.restart(peer(1));
    world.run_for(10s);
    world.freeze(peer(2));
    world.run_for(7s);
    world.thaw(peer(2));
    world.run_for(20s);
    world.set_frame_loss(0, 0);
    run.run(300s);
}

TEST(Clocks, AnOffsetChangesNoEvent) {
    RunWorld exact(clocked({}, 0));
    run_troubled(exact);
    for (const swarm::Duration offset : {swarm::Duration(-9h), swarm::Duration(1234567h)}) {
        RunWorld shifted(clocked(offset, 0));
        run_troubled(shifted);
        EXPECT_EQ(shifted.world().trace_hash(), exact.world().trace_hash()) << offset.count();
    }
}

TEST(Clocks, DriftLeavesTheRunEqualToOneProcess) {
    for (const double drift_ppm : {-500.0, 500.0, 50'000.0}) {
        const RunWorldOptions options = clocked(-3h, drift_ppm);
        RunWorld run(options);
        run_troubled(run);
        EXPECT_EQ(run.verdict(train_single(options.config)), "") << drift_ppm;
    }
}

}  // namespace
}  // namespace sim
