// The coarse fidelity: microbatches are flows. A stage's capacity is the sum of its members' rates,
// bounded by their access lines; the pipeline flows at the rate of its narrowest stage, less what
// sampled steps (step_model.hpp) show that bubbles and queues cost; events are joins, leaves, speed
// changes, commits, state downloads and rebalancer periods. Placement, moves, routes and shares are
// decided by the production classes (router::Rebalancer, HopRouter, Policy weights, roster).
// What it leaves out: messages, faults of links, reductions that take long.
// Threading: none. Cost: O(peers) per event, and a second at most for samples.
// Errors: as make_schedule; Usage: a policy or rebalancer that nobody registered.
#pragma once

#include "sim/report/sim_report.hpp"
#include "sim/scenario/schedule.hpp"

namespace sim {

/// SimReport.events_per_s stays 0: the time of the machine is the caller's.
swarm::Result<SimReport> run_fluid(
    const Scenario& scenario, std::uint64_t seed, const Progress& progress = {}
);
/// With a fleet and happenings at hand.
swarm::Result<SimReport> run_fluid(
    const Scenario& scenario,
    const Schedule& schedule,
    std::uint64_t seed,
    const Progress& progress = {}
);

/// What the same peers could do until then, were each in the best stage at each time: what the
/// exact mode's throughput_of_optimal is a share of. Microbatches; fluid's names must be known.
double best_microbatches(
    const Scenario& scenario, const Schedule& schedule, std::uint64_t seed, TimePoint until
);

}  // namespace sim
