// The [[plan]] of a scenario: what happens at a named time, and entries that follow each other.
// Invariant: a plan that came out of settle_plan() is sorted by time and does not contradict
// itself: nobody joins who is there, leaves who is not, or is frozen twice; no entry begins after
// itself, or in the calm. A peer whose first coming or going is a join is not there at the start.
// Private to sim/scenario. Errors: Usage, with the place of the entry.
#pragma once

#include "sim/scenario/scenario.hpp"

#include <string>
#include <vector>

namespace sim {

inline constexpr std::size_t kPlanMax = 10'000;

struct PlanEntry {
    Planned planned;    // `at`: since the end of the entry `after`, or of the run's start
    std::string name;   // for the `after` of others; may be empty
    std::string after;  // empty: the run's start
    std::string place;  // for errors
};

const char* name_of(Planned::Kind kind);

/// Of those that last: Freeze, SlowDown, Partition, CutLinks.
bool lasts(Planned::Kind kind);

/// `end`: when the calm begins, or the run ends.
swarm::Result<std::vector<Planned>> settle_plan(std::vector<PlanEntry> entries, Duration end);

}  // namespace sim
