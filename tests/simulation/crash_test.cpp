// Every crash there is: each process crashes at each event of a small run, and at each pair of
// events. One replica per stage stays untouched, as the promise requires.
#include "sim/run/run_world.hpp"
#include "tests/simulation/runs.hpp"

#include <gtest/gtest.h>

#include <cstdio>

namespace sim {
namespace {

using namespace std::chrono_literals;

RunWorldOptions two_by_two() {
    RunWorldOptions options;
    options.config = oracle_config(2, 3, 2);
    options.peers = 4;
    options.world.network = {2ms, 6ms};
    options.peer.device.units_per_s = 1000;
    return options;
}

/// One peer per stage that is never crashed; the others are the victims.
std::vector<PeerId> victims(const RunWorldOptions& options) {
    RunWorld run(options);
    run.world().run_until([&] { return run.steps().size() == 1; }, 60s);
    std::set<swarm::StageIndex> kept;
    std::vector<PeerId> found;
    for (std::uint64_t n = 1; n <= options.peers; ++n) {
        if (!kept.insert(run.server(peer(n))->context().stage()).second) {
            found.push_back(peer(n));
        }
    }
    return found;
}

/// Crashes `first` before event `at` and `second` before event `then`; both restart 500 ms later.
std::string crash_twice(
    const RunWorldOptions& options,
    const Reference& reference,
    std::uint64_t at,
    PeerId first,
    std::uint64_t then,
    PeerId second
) {
    RunWorld run(options);
    const auto crash_at = [&](std::uint64_t event, PeerId victim) {
        run.world().run_until([&] { return run.world().events() >= event || run.finished(); }, 60s);
        run.world().crash(victim);
    };
    crash_at(at, first);
    crash_at(then, second);
    run.world().run_for(500ms);
    for (const PeerId victim : std::set<PeerId>{first, second}) {
        run.world().restart(victim);
    }
    run.run(120s);
    return run.verdict(reference);
}

std::uint64_t events_of(const RunWorldOptions& options) {
    RunWorld run(options);
    run.run(60s);
    return run.world().events();
}

TEST(CrashAtEveryEvent, OfEachReplicaLeavesTheRunEqualToOneProcess) {
    const RunWorldOptions options = two_by_two();
    const Reference reference = train_single(options.config);
    const std::uint64_t events = events_of(options);
    ASSERT_GT(events, 100U);
    for (const PeerId victim : victims(options)) {
        for (std::uint64_t at = 0; at < events; ++at) {
            ASSERT_EQ(crash_twice(options, reference, at, victim, at, victim), "")
                << "peer " << victim.words[0] << " before event " << at;
        }
    }
}

TEST(CrashAtEveryEvent, OfTheCoordinatorLeavesTheRunEqualToOneProcess) {
    const RunWorldOptions options = two_by_two();
    const Reference reference = train_single(options.config);
    const std::uint64_t events = events_of(options);
    for (std::uint64_t at = 0; at < events; ++at) {
        const PeerId boss = RunWorld::coordinator();
        ASSERT_EQ(crash_twice(options, reference, at, boss, at, boss), "") << "before event " << at;
    }
}

/// All pairs take minutes, which crash_pairs_long has. Otherwise a fifth of them is tried, with
/// each event as the first one.
TEST(CrashAtEveryPairOfEvents, OfReplicasAndCoordinatorLeavesTheRunEqualToOneProcess) {
    const std::uint64_t stride = all_crash_pairs() ? 1 : 5;
    RunWorldOptions options = two_by_two();
    options.config.steps = 1;
    const Reference reference = train_single(options.config);
    const std::uint64_t events = events_of(options);
    const std::vector<PeerId> replicas = victims(options);
    ASSERT_EQ(replicas.size(), 2U);
    const PeerId boss = RunWorld::coordinator();
    const std::vector<std::pair<PeerId, PeerId>> orders{
        {replicas[0], replicas[1]},
        {replicas[1], replicas[0]},
        {replicas[0], boss},
        {boss, replicas[1]}};
    unsigned long long pairs = 0;
    for (const auto& [first, second] : orders) {
        for (std::uint64_t at = 0; at < events; ++at) {
            for (std::uint64_t then = at; then < events; then += stride) {
                ++pairs;
                ASSERT_EQ(crash_twice(options, reference, at, first, then, second), "")
                    << "peer " << first.words[0] << " before event " << at << ", peer "
                    << second.words[0] << " before event " << then;
            }
        }
    }
    std::printf("%llu pairs of crashes\n", pairs);
}

}  // namespace
}  // namespace sim
