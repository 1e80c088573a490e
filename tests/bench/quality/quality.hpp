// The loss that sending less costs: the demo model trained in this process with each codec, and in
// mode sparse, several seeds each, and how much of that loss shows on a line.
// Order: seed by seed, so that a bench that is stopped has compared all rows on the seeds so far.
// Stopping: SIGINT or SIGTERM ends it after the step under way, a second one at once; the files
// have the runs that are done in any case.
// Threading: one thread, and one bench in a process.
// Errors: one line, also for a codec whose run fails; Usage for files that cannot be written.
// Cost: a run of 300 steps, with its trials, a minute or two.
#pragma once

#include "swarm/base/result.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace swarm::bench {

struct QualityOptions {
    std::uint64_t steps = 300;
    std::uint32_t seeds = 3;
    // Rows that are trained besides "none"; both empty: each codec, int4/int8, and each mode.
    std::vector<std::string> codecs;
    std::vector<std::string> modes;          // kSparseRow
    std::vector<std::uint64_t> bytes_per_s;  // one line rate; empty: kLineBytesPerS
    std::string corpus;                      // empty: the demo's
    std::string svg_file;
};

inline constexpr std::uint64_t kLineBytesPerS = 1'250'000;  // 10 Mb/s
inline constexpr std::uint64_t kQualityStepsMax = 100'000;
inline constexpr std::uint32_t kQualitySeedsMax = 99;

/// Prints the table. Returns the exit code: 0, 1 when the bench failed, 130 or 143 after a signal.
int measure_quality(const QualityOptions& options, const std::string& json_file);

}  // namespace swarm::bench
