#include "tests/simulation/liars/liar_fleet.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace sim::test {

using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kSteps = 12;
/// Lies can hold a step up for minutes; a run has its end within this time.
constexpr swarm::Duration kLimit = 3600s;

struct Fleet {
    RunWorldOptions options;
    std::uint32_t peers = 0;
    std::uint32_t strangers = 0;
    std::set<std::uint64_t> liars;
    std::vector<PeerOptions> machines;
    std::vector<swarm::Duration> joins_at;  // 0: there from the start
};

Fleet draw_fleet(std::uint64_t seed) {
    swarm::Rng rng(seed, 0x11a2);
    Fleet fleet;
    const auto stages = 2 + static_cast<std::uint32_t>(rng.below(4));
    // Most fleets are small: a large one costs as much as ten of them.
    const std::uint64_t each_max = rng.chance(1, 8) ? 64 / stages - 2 : 4;
    fleet.peers = stages * (3 + static_cast<std::uint32_t>(rng.below(each_max)));
    const auto microbatches = 4 + static_cast<std::uint32_t>(rng.below(13));
    fleet.options.config = oracle_config(stages, microbatches, kSteps);
    fleet.options.config.seed = seed;
    fleet.options.peers = 0;
    fleet.options.seed = seed;
    fleet.options.world.network.latency = {{Duration(20ms)}};
    fleet.options.world.network.jitter = 1.0;
    const std::uint64_t liars = 1 + rng.below(8);
    for (std::uint64_t i = 0; i < liars; ++i) {
        if (rng.chance(1, 3)) {
            ++fleet.strangers;
        } else if (4 * fleet.liars.size() < fleet.peers) {
            fleet.liars.insert(1 + rng.below(fleet.peers));
        }
    }
    for (std::uint32_t i = 0; i < fleet.peers; ++i) {
        PeerOptions machine;
        machine.device.units_per_s = 4 + 8 * rng.unit();
        machine.clock_offset = std::chrono::milliseconds(rng.below(3'600'000));
        machine.clock_drift_ppm = 200 * rng.unit();
        fleet.machines.push_back(machine);
        fleet.joins_at.push_back(std::chrono::seconds(rng.chance(1, 6) ? rng.below(20) : 0));
    }
    return fleet;
}

/// Servers that come later come in the order of their numbers at each time.
void let_run(RunWorld& run, const Fleet& fleet) {
    std::vector<std::pair<swarm::Duration, std::uint64_t>> order;
    for (std::uint64_t number = 1; number <= fleet.peers; ++number) {
        order.emplace_back(fleet.joins_at[number - 1], number);
    }
    std::ranges::sort(order);
    const auto over = [&] { return run.finished() || !run.violations().empty(); };
    for (const auto& [at, number] : order) {
        const swarm::Duration now = run.world().now().time_since_epoch();
        run.world().run_until(over, std::max(swarm::Duration{}, at - now));
        run.add_server(number, fleet.machines[number - 1]);
    }
    run.world().run_until(over, kLimit);
}

}  // namespace

std::string LiarOutcome::fault() const {
    if (!verdict.empty()) {
        return verdict;
    }
    if (stalled()) {
        return "a step took " + std::to_string(delay() / 1s) +
               " s longer, and the last checkpoint " +
               std::to_string((to_end - to_end_honest) / 1s) + " s, with " + std::to_string(liars) +
               " liars";
    }
    return fenced_too_many() ? std::to_string(fenced_honest) + " honest peers were fenced, with " +
                                   std::to_string(liars) + " liars"
                             : "";
}

LiarOutcome run_with_liars(
    std::uint64_t seed, Pace pace, swarm::run::PlantedBugs bugs, Liar::Bent bent
) {
    const Fleet fleet = draw_fleet(seed);
    const Reference reference = train_single(fleet.options.config);
    LiarOutcome outcome;
    outcome.liars = static_cast<std::uint32_t>(fleet.liars.size()) + fleet.strangers;
    RunWorld honest(fleet.options);
    let_run(honest, fleet);
    outcome.longest_honest = honest.longest_step();
    outcome.to_end_honest = honest.since_last_commit();
    outcome.verdict = honest.verdict(reference);
    if (!outcome.verdict.empty()) {
        outcome.verdict = "without liars: " + outcome.verdict;
        return outcome;
    }
    RunWorldOptions options = fleet.options;
    options.liars = fleet.liars;
    options.bugs = bugs;
    options.bent = bent;
    RunWorld run(std::move(options));
    for (std::uint32_t i = 0; i < fleet.strangers; ++i) {
        run.add_stranger(fleet.peers);
    }
    if (pace == Pace::Watched) {
        run.expect_commits_within(outcome.longest_honest + outcome.liars * kStallOfOne);
    }
    let_run(run, fleet);
    outcome.verdict = run.verdict(reference);
    outcome.lies = run.lies();
    outcome.steps = run.steps().size();
    outcome.fenced = run.fenced();
    outcome.fenced_honest = run.fenced_honest();
    outcome.longest = run.longest_step();
    outcome.to_end = run.since_last_commit();
    outcome.trace_hash = run.world().trace_hash();
    outcome.log = run.log();
    outcome.fenced_without_lies = honest.fenced();
    return outcome;
}

}  // namespace sim::test
