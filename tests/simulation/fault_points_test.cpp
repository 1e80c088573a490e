// Faults at the places where they hurt most: the coordinator around its fsync, dials, links that
// have just come up; and the probes that such seeds must have reached to be worth running.
// SWARM_SEED=<n> replays one seed.
#include "sim/run/probes.hpp"
#include "tests/simulation/chaos.hpp"
#include "tests/simulation/runs.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace sim {
namespace {

void set_fault_points(World& world) {
    const PeerId boss = RunWorld::coordinator();
    world.set_fault(
        FaultPoint::RecordIsSynced, world.of_peer(boss, FaultRule::by_probability(1, 10, 700ms))
    );
    world.set_fault(
        FaultPoint::RecordIsWritten, world.of_peer(boss, FaultRule::by_probability(1, 20, 1s))
    );
    world.set_fault(
        FaultPoint::TurnBegins, world.of_peer(boss, FaultRule::by_probability(1, 2000, 500ms))
    );
    world.set_fault(FaultPoint::DialArrives, FaultRule::by_probability(1, 20));
}

void end_fault_points(World& world) {
    for (std::size_t point = 0; point < kFaultPoints; ++point) {
        world.set_fault(static_cast<FaultPoint>(point), FaultRule::never());
    }
}

void watch(RunWorld& run, RunProbes& probes) {
    run.observe_events([&](PeerId id, const node::Event& event) { probes.on_event(id, event); });
    run.observe_sends([&](PeerId id, const node::Send& send) { probes.on_send(id, send); });
}

TEST(Chaos, FaultPointsEqualOneProcessAndReachEveryProbe) {
    const Reference reference = train_single(three_by_two(1, 6).config);
    ProbeCounts counts;
    std::uint64_t crashes = 0;
    const char* const one = std::getenv("SWARM_SEED");
    const std::uint64_t first = one ? std::strtoull(one, nullptr, 10) : 1;
    const std::uint64_t last = one ? first : 300;
    for (std::uint64_t seed = first; seed <= last && !HasFailure(); ++seed) {
        RunWorld run(three_by_two(seed, 6));
        RunProbes probes(run.world(), RunWorld::coordinator());
        watch(run, probes);
        set_fault_points(run.world());
        HealthWatch health(run);
        run_chaos(run, health, seed, &end_fault_points);
        EXPECT_EQ(run.verdict(reference), "") << "seed " << seed << '\n' << log_of(run);
        counts.add(probes.counts());
        crashes += run.world().fault_points().fired(FaultPoint::RecordIsSynced);
    }
    EXPECT_TRUE(one || counts.missing().empty()) << "never reached: " << counts.missing();
    std::printf(
        "%llu crashes after the sync\n%s",
        static_cast<unsigned long long>(crashes),
        counts.text().c_str()
    );
}

}  // namespace
}  // namespace sim
