// The coarse fidelity: microbatches are flows. A stage's capacity is the sum of its members' rates,
// bounded by their access lines; the pipeline flows at the rate of its narrowest stage, less the
// bubble at the end of each step; events are joins, leaves, speed changes, state downloads and
// rebalancer periods. Placement, moves and shares are decided by the production classes
// (router::Rebalancer, router::Policy weights, roster).
// What it leaves out: single steps, messages, queues within a step, replays, faults of links.
// Threading: none. Cost: O(stages + members of a stage) per event, O(peers) per join and period.
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
