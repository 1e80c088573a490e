// Many seeds of runs that nobody has thought of: fleet, pipeline and kinds of faults are drawn, the
// last minute is calm. Each must keep every rule of the checker, commit in the calm, and equal one
// process. A seed that fails prints the command that replays it.
#include "sim/run/scenario_run.hpp"
#include "swarm/base/rng.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace sim {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kSeedsPerTest = 100;

Faults::Kind fault(swarm::Rng& rng, double per_hour, double shortest_s, double longest_s) {
    Faults::Kind kind;
    kind.per_hour = rng.chance(1, 2) ? per_hour : 0;
    kind.length_s = {Draw::Kind::Uniform, {shortest_s, longest_s}};
    return kind;
}

enum class Speed : std::uint8_t { Brisk, Slow };

/// As it is named in SWARM_SPEED, which replays a scenario.
const char* name_of(Speed speed) {
    return speed == Speed::Slow ? "slow" : "brisk";
}

Scenario drawn_scenario(std::uint64_t seed, Speed speed) {
    swarm::Rng rng(seed, 0xc4a05);
    Scenario scenario;
    scenario.name = "chaos";
    scenario.duration = 5min;
    scenario.calm = 1min;
    Pipeline& pipeline = scenario.pipeline;
    pipeline.stages = 2 + static_cast<std::uint32_t>(rng.below(7));
    pipeline.microbatches = 4 + static_cast<std::uint32_t>(rng.below(13));
    PeerGroup& group = scenario.groups.front();
    group.count = std::max(2 * pipeline.stages, 8 + static_cast<std::uint32_t>(rng.below(57)));
    // Half a second for a slow forward: deadlines that follow what was measured stay short.
    group.units_per_s = {Draw::Kind::Uniform, {2, 6}};
    if (speed == Speed::Slow) {  // a step of 3 s, had each peer its part of it at every moment
        const double mean = 1.0 * pipeline.microbatches * pipeline.stages / group.count;
        group.units_per_s = {Draw::Kind::Uniform, {0.5 * mean, 1.5 * mean}};
    }
    group.clock_offset_s = {Draw::Kind::Uniform, {0, 3600}};
    group.clock_drift_ppm = {Draw::Kind::Uniform, {0, 200}};
    scenario.regions.latency = {{Duration(20ms)}};
    scenario.regions.jitter = 1.0;
    if (rng.chance(1, 2)) {
        scenario.churn.mtbf = 4min;
        scenario.churn.absence_mean = 20s;
        scenario.churn.crash_share = 0.8;
    }
    if (rng.chance(1, 2)) {
        pipeline.rebalancer = "swarm-alg2";
        pipeline.rebalance_every = 30s;
    }
    scenario.faults.freeze = fault(rng, 60, 1, 12);
    scenario.faults.partition = fault(rng, 60, 1, 12);
    scenario.faults.slow_down = fault(rng, 60, 5, 30);
    scenario.faults.cut_links = fault(rng, 60, 1, 12);
    scenario.faults.frame_loss = rng.chance(1, 2) ? 0.001 : 0;
    scenario.faults.job_stall = rng.chance(1, 2) ? 0.02 : 0;
    scenario.faults.job_stall_s = 3;
    return scenario;
}

struct Sums {
    std::uint64_t steps = 0;
    std::uint64_t events = 0;
    std::uint64_t moves = 0;
    std::uint64_t notes = 0;
};

void run_scenario(std::uint64_t seed, Speed speed, Sums& sums, const ExactOptions& extra = {}) {
    const Scenario scenario = drawn_scenario(seed, speed);
    ExactOptions options = extra;
    options.compare_with_single = true;
    const swarm::Result<SimReport> report = run_exact(scenario, seed, options);
    ASSERT_TRUE(report) << report.error().detail;
    EXPECT_TRUE(report->violations.empty())
        << "seed " << seed << " at " << report->virtual_s << " s: " << report->violations.front()
        << "\nreplay: SWARM_SEED=" << seed << " SWARM_SPEED=" << name_of(speed)
        << " simulation_test --gtest_filter=ChaosScenarios.OneSeed";
    EXPECT_FALSE(report->failure) << "seed " << seed << ": " << *report->failure;
    sums.steps += report->steps;
    sums.events += report->events;
    sums.moves += report->moves;
    sums.notes += report->notes.size();
    if (seed % 20 == 0) {
        EXPECT_EQ(run_exact(scenario, seed)->trace_hash, report->trace_hash) << "seed " << seed;
    }
}

class ManyChaosScenarios : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(ManyChaosScenarios, KeepEveryRuleAndCommitInTheCalm) {
    Sums sums;
    for (std::uint64_t i = 0; i < kSeedsPerTest && !HasFatalFailure(); ++i) {
        const std::uint64_t seed = GetParam() * kSeedsPerTest + i;
        run_scenario(seed, Speed::Brisk, sums);
    }
    std::printf(
        "%llu steps, %llu events, %llu moves, %llu faults\n",
        static_cast<unsigned long long>(sums.steps),
        static_cast<unsigned long long>(sums.events),
        static_cast<unsigned long long>(sums.moves),
        static_cast<unsigned long long>(sums.notes)
    );
    EXPECT_GT(sums.notes, kSeedsPerTest);
}

INSTANTIATE_TEST_SUITE_P(Batch, ManyChaosScenarios, ::testing::Range<std::uint64_t>(0, 20));

/// What led to the faults that the seeds below found.
struct Situations {
    std::uint64_t long_waves = 0;            // past the first deadline of a wave, not given up
    std::uint64_t deadlines_in_recalls = 0;  // of a wave, while members are asked what they hold
    std::uint64_t lone_movers = 0;           // or leavers: the others of the stage do not answer
    std::uint64_t leaves_in_recalls = 0;

    void look(RunWorld& run, PeerId at, const node::Event& event) {
        if (at == RunWorld::coordinator()) {
            look_at_coordinator(run, std::get_if<node::Received>(&event));
        }
    }

 private:
    void look_at_coordinator(RunWorld& run, const node::Received* received) {
        using Phase = swarm::run::StepMachine::Phase;
        const auto* const boss = run.coordinator_role();
        if (boss == nullptr) {
            return;
        }
        const swarm::run::StepMachine& step = boss->step();
        const bool recalling = step.phase() == Phase::Recalling;
        const bool running = step.phase() == Phase::Running;
        const auto first_deadline = 5s * boss->context().config.stages;
        const bool is_late = step.ledger().oldest_launch() < run.world().now() - first_deadline;
        if ((recalling || running) && is_late) {
            ++(recalling ? deadlines_in_recalls : long_waves);
        }
        leaves_in_recalls += recalling && received != nullptr &&
                             std::holds_alternative<swarm::protocol::Leave>(received->message.body);
        const swarm::run::Roster& roster = boss->context().roster;
        for (const swarm::protocol::SlotInfo& info : roster.slots()) {
            lone_movers += info.standing == swarm::protocol::Standing::Draining &&
                           roster.pickable(info.stage) == std::vector<swarm::SlotId>{info.slot};
        }
    }
};

void run_and_look(std::uint64_t seed, Situations& found) {
    Sums sums;
    ExactOptions options;
    options.on_event = [&](RunWorld& run, PeerId at, const node::Event& event) {
        found.look(run, at, event);
    };
    run_scenario(seed, Speed::Slow, sums, options);
}

// The first five found faults of the protocol: waves longer than the first deadline given up for
// ever (4), a deadline that passed during a recall (10), a mover left alone in its stage (101), an
// assignment during a commit (239), a leaver awaited by a recall (252). What a seed leads to drifts
// with every change; the others are here because they lead to the same places, all but 239's, which
// none of the first 400 seeds reaches any more.
TEST(ChaosScenarios, SeedsThatFoundFaults) {
    Situations found;
    for (const std::uint64_t seed : {4, 10, 101, 239, 252, 6, 11, 13, 17, 22, 169, 223, 228}) {
        run_and_look(seed, found);
    }
    EXPECT_GT(found.long_waves, 0U);
    EXPECT_GT(found.deadlines_in_recalls, 0U);
    EXPECT_GT(found.lone_movers, 0U);
    EXPECT_GT(found.leaves_in_recalls, 0U);
}

TEST(ChaosScenarios, OneSeed) {
    const char* const seed = std::getenv("SWARM_SEED");
    const char* const speed = std::getenv("SWARM_SPEED");
    ExactOptions options;
    if (seed != nullptr) {
        options.trace_line = [](const std::string& line) { std::puts(line.c_str()); };
    }
    const std::uint64_t number = seed == nullptr ? 1 : std::strtoull(seed, nullptr, 10);
    const bool slow = speed != nullptr && std::string(speed) == name_of(Speed::Slow);
    Sums sums;
    run_scenario(number, slow ? Speed::Slow : Speed::Brisk, sums, options);
}

}  // namespace
}  // namespace sim
