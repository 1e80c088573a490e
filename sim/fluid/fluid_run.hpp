// The coarse fidelity: microbatches are flows. A stage's capacity is the sum of its members' rates,
// bounded by their access lines; the pipeline flows at the rate of its narrowest stage, less the
// cost of bubbles and queues that sampled steps (step_model.hpp) show; events are joins, leaves,
// speed changes, commits, state downloads and rebalancer periods. The production classes decide
// placement, moves, routes and shares (router::Rebalancer, HopRouter, Policy weights, roster).
// Left out: messages, faults of links.
// Threading: none. Cost: O(peers) per event, and a second at most for samples.
// Errors: the same as make_schedule's; Usage: a policy or rebalancer that is not registered.
#pragma once

#include "sim/report/sim_report.hpp"
#include "sim/scenario/schedule.hpp"

namespace sim {

/// Leaves SimReport.events_per_s at 0: the caller measures the machine's time.
swarm::Result<SimReport> run_fluid(
    const Scenario& scenario, std::uint64_t seed, const Progress& progress = {}
);
/// The same for a schedule that is at hand.
swarm::Result<SimReport> run_fluid(
    const Scenario& scenario,
    const Schedule& schedule,
    std::uint64_t seed,
    const Progress& progress = {}
);

/// Microbatches that the same peers could do until then if each were in the best stage at each
/// time. The exact mode's throughput_of_optimal is a share of this number. REQUIRES: fluid's names
/// are known.
double best_microbatches(
    const Scenario& scenario, const Schedule& schedule, std::uint64_t seed, TimePoint until
);

}  // namespace sim
