// Bytes that the machines of a recipe of `swarm stack judge` would send to each other while they
// train, if each domain had one: a training on all texts is done by all of them together, each
// member's by one alone.
// Threading: pure but for reading the run files. Errors: those of the readers. Source: the volume
// of an exact reduction (swarm/run/step_time), on lines on which sums travel packed.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/cli/judge/recipes.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace swarm::cli {

/// Bytes that each machine sends in reductions. `trainings`: those of a recipe, which are done and
/// lie in `folder`.
Result<double> reduced_bytes(
    const std::filesystem::path& folder,
    const std::vector<Training>& trainings,
    std::size_t machines
);

/// Bytes that each machine sends, in the mean, when a member is aligned with the next one: states
/// of so many tokens one way, targets the other. `member`: the folder of the aligned member's run.
Result<double> aligned_bytes(
    const std::filesystem::path& member, std::uint64_t tokens, std::size_t machines
);

}  // namespace swarm::cli
