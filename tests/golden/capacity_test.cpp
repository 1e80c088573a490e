// Claims about the rebalancer "capacity" in the simulator, with "swarm-alg2" for comparison.
#include "router/rebalancer.hpp"
#include "sim/fluid/fluid_run.hpp"
#include "sim/run/scenario_run.hpp"
#include "tests/golden/clairvoyant.hpp"
#include "tests/places.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

namespace sim::golden {
namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

Scenario scenario_of(const std::string& path, const Settings& settings) {
    return *load_scenario(swarm::test::source_dir() + "/" + path, settings);
}

Scenario table4(const std::string& rebalancer) {
    return scenario_of(
        "sim/golden/swarm_table4.toml",
        {{"pipeline.rebalancer", rebalancer}, {"pipeline.rebalance_every", "60s"}}
    );
}

struct Means {
    double of_optimal = 0;  // percent
    double moves = 0;
    double bytes = 0;
    double oracle_bytes = 0;
};

constexpr std::uint64_t kRuns = 10;

Means means_of(const std::string& rebalancer) {
    const Scenario scenario = table4(rebalancer);
    Means means;
    for (std::uint64_t seed = 1; seed <= kRuns; ++seed) {
        const Schedule schedule = *make_schedule(scenario, seed);
        const SimReport report = *run_fluid(scenario, schedule, seed);
        means.of_optimal += 100 * *report.throughput_of_optimal / kRuns;
        means.moves += static_cast<double>(report.moves) / kRuns;
        means.bytes += static_cast<double>(report.bytes) / kRuns;
        const auto downloads = static_cast<double>(clairvoyant_downloads(scenario, schedule));
        means.oracle_bytes +=
            downloads * static_cast<double>(scenario.pipeline.state_bytes) / kRuns;
    }
    std::printf(
        "%-10s  %5.2f %% of optimal, %6.1f moves, %6.1f GB; who knows the trace: %6.1f GB\n",
        rebalancer.c_str(),
        means.of_optimal,
        means.moves,
        means.bytes / 1e9,
        means.oracle_bytes / 1e9
    );
    return means;
}

TEST(GoldenCapacity, ReachesMoreOfTable4sOptimumThanAlgorithm2WithFewerBytes) {
    const Means capacity = means_of("capacity");
    const Means swarm = means_of("swarm-alg2");
    EXPECT_GE(capacity.of_optimal, 98.0);
    EXPECT_GT(capacity.of_optimal, swarm.of_optimal);
    EXPECT_LE(capacity.bytes, 1.5 * capacity.oracle_bytes);
    EXPECT_LT(capacity.bytes, swarm.bytes);
}

/// Microbatches until some periods after the loss: the ones done, and those of the best placement.
struct Done {
    double microbatches = 0;
    double best = 0;
};

Done done_after(const Scenario& scenario, int periods) {
    Scenario part = scenario;
    part.duration = scenario.plan.front().at + periods * scenario.pipeline.rebalance_every;
    const SimReport report = *run_fluid(part, 1);
    const double done = static_cast<double>(report.steps) * scenario.pipeline.microbatches;
    return {done, done / *report.throughput_of_optimal};
}

/// Percent of optimal in the n-th period after the loss.
double share_in_period(const std::string& rebalancer, int nth) {
    const Scenario scenario =
        scenario_of("sim/scenarios/stage-struck.toml", {{"pipeline.rebalancer", rebalancer}});
    const Done before = done_after(scenario, nth - 1);
    const Done after = done_after(scenario, nth);
    const double share =
        100 * (after.microbatches - before.microbatches) / (after.best - before.best);
    std::printf("%-10s period %d after: %5.1f %% of optimal\n", rebalancer.c_str(), nth, share);
    return share;
}

TEST(GoldenCapacity, IsBackTwoPeriodsAfterAStageLostTenPeersAtOnce) {
    EXPECT_LT(share_in_period("none", 3), 60);
    EXPECT_GE(share_in_period("capacity", 3), 95);
    EXPECT_LT(share_in_period("swarm-alg2", 8), 95);  // swarm-alg2 moves one peer in each period
    EXPECT_GE(share_in_period("swarm-alg2", 11), 95);
}

double last_move_s(const SimReport& report) {
    double last_s = 0;
    for (const Note& note : report.notes) {
        last_s = note.kind == NoteKind::Move ? note.at_s : last_s;
    }
    return last_s;
}

/// Expects ten last periods without a move, after some moves, under constant load.
void expect_rest(const char* mode, const Scenario& scenario, const SimReport& report) {
    const double period_s =
        std::chrono::duration<double>(scenario.pipeline.rebalance_every).count();
    std::printf(
        "%-5s  %2llu moves, the last at %5.0f s of %5.0f s; %5.1f %% of optimal\n",
        mode,
        static_cast<unsigned long long>(report.moves),
        last_move_s(report),
        report.virtual_s,
        100 * *report.throughput_of_optimal
    );
    EXPECT_GT(report.moves, 0U);
    EXPECT_LE(last_move_s(report), report.virtual_s - 10 * period_s);
}

// Which peer moves where follows small differences of queues, and the share of the optimum with it:
// in exact runs of 20 seeds it spreads by 2.4 points, from 92 to 102 % around 97.3 %. So the bound
// is about the mean.

TEST(GoldenCapacity, ComesToRestUnderConstantLoad) {
    const Scenario scenario = scenario_of("sim/scenarios/settled.toml", {});
    double of_optimal = 0;
    for (std::uint64_t seed = 1; seed <= kRuns; ++seed) {
        const SimReport fluid = *run_fluid(scenario, seed);
        expect_rest("fluid", scenario, fluid);
        EXPECT_GE(*fluid.throughput_of_optimal, 0.93);
        const SimReport exact = *run_exact(scenario, seed, {});
        EXPECT_TRUE(exact.violations.empty());
        expect_rest("exact", scenario, exact);
        of_optimal += *exact.throughput_of_optimal / kRuns;
    }
    std::printf(
        "exact  %.1f %% of optimal, a mean of %llu seeds\n",
        100 * of_optimal,
        static_cast<unsigned long long>(kRuns)
    );
    EXPECT_GE(of_optimal, 0.95);
}

}  // namespace
}  // namespace sim::golden
