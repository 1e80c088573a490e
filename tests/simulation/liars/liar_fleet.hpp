// A run with liars. Fleet, pipeline, liars and their lies follow from the seed. The same fleet runs
// twice: first all of its peers are honest, which says how long a step may take; then liars lie.
#pragma once

#include "sim/run/run_world.hpp"

#include <cstdint>
#include <string>

namespace sim::test {

/// Time that lies may add to a step, whatever they are.
inline constexpr swarm::Duration kStall = std::chrono::seconds(10);

struct LiarOutcome {
    std::string verdict;  // empty for a sound run
    LieCounts lies;
    std::uint64_t steps = 0;
    std::uint32_t liars = 0;
    std::uint32_t fenced = 0;
    std::uint32_t fenced_honest = 0;
    std::uint32_t fenced_without_lies = 0;
    swarm::Duration longest_honest{};
    swarm::Duration longest{};
    std::uint64_t trace_hash = 0;
    std::vector<std::string> log;

    /// More honest peers were fenced because of the liars than there are liars.
    [[nodiscard]] bool fenced_too_many() const {
        return fenced_honest > fenced_without_lies + liars;
    }

    [[nodiscard]] bool stalled() const { return longest > longest_honest + kStall; }
};

/// Whether a step that takes kStall longer than without lies ends the run as a violation.
enum class Pace : std::uint8_t { Free, Watched };

LiarOutcome run_with_liars(
    std::uint64_t seed, Pace pace = Pace::Watched, swarm::run::PlantedBugs bugs = {}
);

}  // namespace sim::test
