// The exact fidelity: the production coordinator and stage servers, every message, the oracle's
// gradients, simulated disks and faults, and the checker on every event.
// Invariant: a function of (scenario, seed).
// Threading: none. Cost: that of the world's events. Errors: as make_schedule; TooLarge (Reject)
// for a fleet whose links are too many.
#pragma once

#include "sim/report/sim_report.hpp"
#include "sim/run/run_world.hpp"
#include "sim/scenario/schedule.hpp"
#include "swarm/run/planted_bugs.hpp"

#include <functional>
#include <string>

namespace sim {

struct ExactOptions {
    Progress progress;
    /// --replay: each event as one line, in the time around the first violation (or all of them).
    std::function<void(const std::string&)> trace_line;
    /// In its place: sees each event before it takes effect.
    std::function<void(RunWorld&, PeerId, const node::Event&)> on_event = {};
    /// What befalls the run besides the schedule: called between events, first at the start, then
    /// when what it returned has come, and a last time when the calm begins.
    std::function<TimePoint(RunWorld&, bool calm)> disturb = {};
    /// What one process makes of the same run is computed and compared at the end.
    bool compare_with_single = false;
    swarm::run::PlantedBugs bugs = {};
};

swarm::Result<SimReport> run_exact(
    const Scenario& scenario, std::uint64_t seed, const ExactOptions& options = {}
);

}  // namespace sim
