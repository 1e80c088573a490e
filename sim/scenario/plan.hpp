// The [[plan]] of a scenario: faults and comings at a named time, and entries that follow each
// other.
// Invariant: a plan that came out of settle_plan() is sorted by time and does not contradict
// itself: no peer joins that is there, leaves that is not, or is frozen twice; no entry begins
// after itself, or in the calm. A peer whose first coming or going is a join is not there at the
// start.
// Private to sim/scenario. Errors: Usage, with the place of the entry.
#pragma once

#include "sim/scenario/scenario.hpp"

#include <string>
#include <vector>

namespace sim {

inline constexpr std::size_t kPlanMax = 10'000;

struct PlanEntry {
    Planned planned;    // `at` counts from the end of the entry `after`, or from the run's start
    std::string name;   // other entries' `after` names it; may be empty
    std::string after;  // empty: the run's start
    std::string place;  // place in the file, for errors
};

const char* name_of(Planned::Kind kind);

/// True for the kinds that last for a while: Freeze, SlowDown, Partition, CutLinks.
bool lasts(Planned::Kind kind);

/// `end`: the time at which the calm begins, or the run ends.
swarm::Result<std::vector<Planned>> settle_plan(std::vector<PlanEntry> entries, Duration end);

}  // namespace sim
