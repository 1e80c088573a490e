// Two runs side by side: the keys of their run files that differ, and their losses at the steps
// that both have.
// Threading: pure functions. Errors: none.
#pragma once

#include "swarm/cli/runs/run_summary.hpp"
#include "swarm/run/run_file/config_changes.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace swarm::cli {

/// Rows of losses that a person sees; --json has all of them.
inline constexpr std::size_t kComparedRowsMax = 12;

struct ComparedLoss {
    std::uint64_t step = 0;
    double first = 0;
    double second = 0;
};

struct RunComparison {
    std::filesystem::path first;
    std::filesystem::path second;
    std::vector<run::KeyChange> keys;  // from the first to the second
    std::vector<ComparedLoss> losses;  // in the order of steps
};

/// The folders stay empty.
RunComparison compare_runs(const RunFiles& first, const RunFiles& second);

std::string comparison_text(const RunComparison& comparison);
std::string comparison_json(const RunComparison& comparison);

}  // namespace swarm::cli
