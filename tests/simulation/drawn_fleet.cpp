#include "tests/simulation/drawn_fleet.hpp"

#include "swarm/base/rng.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

namespace sim::test {

using namespace std::chrono_literals;

namespace {

Faults::Kind fault(swarm::Rng& rng, double per_hour, double shortest_s, double longest_s) {
    Faults::Kind kind;
    kind.per_hour = rng.chance(1, 2) ? per_hour : 0;
    kind.length_s = {Draw::Kind::Uniform, {shortest_s, longest_s}};
    return kind;
}

/// The last notes before the end of a run that failed.
std::string last_notes(const SimReport& report) {
    constexpr std::size_t kNotes = 60;
    std::string text;
    const std::size_t begin = report.notes.size() - std::min(report.notes.size(), kNotes);
    for (std::size_t i = begin; i < report.notes.size(); ++i) {
        const Note& note = report.notes[i];
        text += "\n  " + std::to_string(note.at_s) + " s " + std::string(to_text(note.kind)) +
                ": " + note.text;
    }
    return text;
}

}  // namespace

const char* name_of(Speed speed) {
    return speed == Speed::Slow ? "slow" : "brisk";
}

DrawnFleet drawn_fleet(std::uint64_t seed, Speed speed, std::chrono::minutes duration) {
    swarm::Rng rng(seed, 0xc4a05);
    Scenario scenario;
    scenario.name = "chaos";
    scenario.duration = duration;
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
        pipeline.rebalancer = seed % 2 == 0 ? "capacity" : "swarm-alg2";
        pipeline.rebalance_every = 30s;
    }
    scenario.faults.freeze = fault(rng, 60, 1, 12);
    scenario.faults.partition = fault(rng, 60, 1, 12);
    scenario.faults.slow_down = fault(rng, 60, 5, 30);
    scenario.faults.cut_links = fault(rng, 60, 1, 12);
    scenario.faults.frame_loss = rng.chance(1, 2) ? 0.001 : 0;
    scenario.faults.job_stall = rng.chance(1, 2) ? 0.02 : 0;
    scenario.faults.job_stall_s = 3;
    return {std::move(scenario), seed, speed};
}

DrawnFleet rough_fleet(std::uint64_t seed, Speed speed, std::chrono::minutes duration) {
    DrawnFleet fleet = drawn_fleet(seed, speed, duration);
    fleet.rough = true;
    Scenario& scenario = fleet.scenario;
    scenario.churn = {};
    scenario.pipeline.state_bytes = 4'000'000;
    for (PeerGroup& group : scenario.groups) {
        group.up_bytes_per_s = {Draw::Kind::Constant, {2e6}};
        group.down_bytes_per_s = {Draw::Kind::Constant, {2e6}};
    }
    return fleet;
}

DrawnFleet lying_fleet(std::uint64_t seed, Speed speed, std::chrono::minutes duration) {
    DrawnFleet fleet = drawn_fleet(seed, speed, duration);
    swarm::Rng rng(seed, 0x11a3);
    const std::uint64_t peers = fleet.scenario.groups.front().count;
    const std::uint64_t wanted = 1 + rng.below(std::min<std::uint64_t>(8, peers / 4));
    while (fleet.liars.size() < wanted) {
        fleet.liars.insert(1 + rng.below(peers));
    }
    return fleet;
}

void print(const Sums& sums) {
    std::printf(
        "%llu steps, %llu events, %llu moves, %llu faults\n",
        static_cast<unsigned long long>(sums.steps),
        static_cast<unsigned long long>(sums.events),
        static_cast<unsigned long long>(sums.moves),
        static_cast<unsigned long long>(sums.notes)
    );
}

void run_scenario(const DrawnFleet& fleet, Sums& sums, const ExactOptions& extra) {
    const auto& [scenario, seed, speed, rough, liars] = fleet;
    ExactOptions options = extra;
    options.liars = liars;
    RoughTimes times(seed);
    if (rough) {
        options.disturb = [&](RunWorld& run, RunPart part) { return times.disturb(run, part); };
        options.on_event = [&](RunWorld& run, PeerId at, const node::Event& event) {
            times.on_event(run, at, event);
            if (extra.on_event) {
                extra.on_event(run, at, event);
            }
        };
    }
    options.compare_with_single = true;
    const swarm::Result<SimReport> report = run_exact(scenario, seed, options);
    ASSERT_TRUE(report) << report.error().detail;
    EXPECT_TRUE(report->violations.empty())
        << "seed " << seed << " at " << report->virtual_s << " s: " << report->violations.front()
        << "\nreplay: SWARM_SEED=" << seed << " SWARM_SPEED=" << name_of(speed)
        << (rough ? " SWARM_ROUGH=1" : "") << (liars.empty() ? "" : " SWARM_LIARS=1")
        << " SWARM_MINUTES="
        << std::chrono::duration_cast<std::chrono::minutes>(scenario.duration).count()
        << " drawn_fleets_test --gtest_filter=ChaosScenarios.OneSeed";
    EXPECT_FALSE(report->failure) << "seed " << seed << ": " << *report->failure
                                  << last_notes(*report);
    sums.trace_hashes.push_back(report->trace_hash);
    sums.steps += report->steps;
    sums.events += report->events;
    sums.moves += report->moves;
    sums.notes += report->notes.size();
    sums.rough.drains += times.counts().drains;
    sums.rough.donor_deaths += times.counts().donor_deaths;
    sums.rough.torn_disks += times.counts().torn_disks;
    if (seed % 20 == 0 && !rough && liars.empty()) {
        EXPECT_EQ(run_exact(scenario, seed)->trace_hash, report->trace_hash) << "seed " << seed;
    }
}

}  // namespace sim::test
