// A run that no person has thought of: fleet, pipeline and kinds of faults follow from the seed,
// and the last minute is calm. The run must keep every rule of the checker, commit in the calm, and
// equal one process. A seed that fails prints the command that replays it.
#pragma once

#include "sim/run/scenario_run.hpp"
#include "tests/simulation/rough_times.hpp"

#include <chrono>
#include <cstdint>
#include <set>
#include <vector>

namespace sim::test {

enum class Speed : std::uint8_t { Brisk, Slow };

/// The speed's name in SWARM_SPEED, which replays a scenario.
const char* name_of(Speed speed);

struct DrawnFleet {
    Scenario scenario;
    std::uint64_t seed = 0;
    Speed speed = Speed::Brisk;
    bool rough = false;
    std::set<std::uint64_t> liars{};  // by number; they are honest in the calm
};

DrawnFleet drawn_fleet(std::uint64_t seed, Speed speed, std::chrono::minutes duration);

/// The same fleet, but states take seconds to download, and peers go only by RoughTimes.
DrawnFleet rough_fleet(std::uint64_t seed, Speed speed, std::chrono::minutes duration);

/// The same fleet, but up to eight of its peers lie, at most a quarter.
DrawnFleet lying_fleet(std::uint64_t seed, Speed speed, std::chrono::minutes duration);

struct Sums {
    std::uint64_t steps = 0;
    std::uint64_t events = 0;
    std::uint64_t moves = 0;
    std::uint64_t notes = 0;
    RoughTimes::Counts rough;
    std::vector<std::uint64_t> trace_hashes;  // one hash per run, in order
};

void print(const Sums& sums);

/// Each 20th seed runs twice, to the same trace.
void run_scenario(const DrawnFleet& fleet, Sums& sums, const ExactOptions& extra = {});

}  // namespace sim::test
