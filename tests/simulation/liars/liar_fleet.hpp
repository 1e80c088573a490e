// A run with liars. Fleet, pipeline, liars and their lies follow from the seed. The same fleet runs
// twice: first all of its peers are honest, which says how long a step may take; then liars lie.
#pragma once

#include "sim/run/run_world.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

namespace sim::test {

/// Time that the lies of one liar may add to a step: two failures of it, of 8 s and a replay each.
inline constexpr swarm::Duration kStallOfOne = std::chrono::seconds(20);

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

    swarm::Duration to_end_honest{};  // from the last commit to the end of the run
    swarm::Duration to_end{};

    [[nodiscard]] swarm::Duration delay() const { return longest - longest_honest; }

    [[nodiscard]] bool stalled() const {
        return std::max(delay(), to_end - to_end_honest) > liars * kStallOfOne;
    }

    /// Empty for a run that lies neither ended nor changed nor stalled, and that kept its honest
    /// peers.
    [[nodiscard]] std::string fault() const;
};

/// Whether a step that the liars hold up for longer ends the run as a violation.
enum class Pace : std::uint8_t { Free, Watched };

LiarOutcome run_with_liars(
    std::uint64_t seed,
    Pace pace = Pace::Watched,
    swarm::run::PlantedBugs bugs = {},
    Liar::Bent bent = {}
);

}  // namespace sim::test
