// The exact fidelity: the production coordinator and stage servers, every message, the oracle's
// gradients, simulated disks and faults, and the checker on every event.
// Invariant: a function of (scenario, seed).
// Threading: none. Cost: the cost of the world's events.
// Errors: the same as make_schedule's; TooLarge (Reject) for a fleet whose links are too many.
#pragma once

#include "sim/report/sim_report.hpp"
#include "sim/run/run_world.hpp"
#include "sim/scenario/schedule.hpp"
#include "swarm/run/planted_bugs.hpp"

#include <cstdint>
#include <functional>
#include <set>
#include <string>

namespace sim {

/// The part of a run, for `ExactOptions::disturb`.
enum class RunPart : std::uint8_t { Faults, Calm };

struct ExactOptions {
    Progress progress;
    /// Takes one line per event at the end of the run, for --replay: the last events of the run,
    /// which ends soon after its first violation, or all events when they are few.
    std::function<void(const std::string&)> trace_line;
    /// Sees each event before the event takes effect; used instead of trace_line.
    std::function<void(RunWorld&, PeerId, const node::Event&)> on_event = {};
    /// Disturbs the run besides the schedule. It is called between events: first at the start, then
    /// at each time that it returned, and a last time when the calm begins.
    std::function<TimePoint(RunWorld&, RunPart part)> disturb = {};
    /// Whether the same run is also computed by one process, and the results compared at the end.
    bool compare_with_single = false;
    swarm::run::PlantedBugs bugs = {};
    std::set<std::uint64_t> liars = {};  // peers that lie until the calm begins, by number
};

swarm::Result<SimReport> run_exact(
    const Scenario& scenario, std::uint64_t seed, const ExactOptions& options = {}
);

}  // namespace sim
