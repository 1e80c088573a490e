// The end of a run by eval.patience, as the file `ended-by-patience` in the run's folder has it.
// Without it a later process could not know of the end: evaluations are in no record of the log,
// and metrics.jsonl is not synced and does not say where a process, and its count of evaluations,
// began. So the process that ends the run writes down that, when and why it did.
// Invariant: the file counts only while the run stands at its step.
// Threading: one thread. Errors: StorageFailed; a file that is not understood counts as none.
#pragma once

#include "swarm/base/result.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace swarm::cli {

inline constexpr const char* kPatienceEndFile = "ended-by-patience";

struct PatienceEnd {
    std::uint64_t step = 0;      // steps that were made
    std::uint32_t patience = 0;  // eval.patience of the process that ended the run
    std::string reason;          // "no better held-out loss than 3.2140 in 5 evaluations"

    friend bool operator==(const PatienceEnd&, const PatienceEnd&) = default;
};

/// nullopt: patience has ended no process of this run.
std::optional<PatienceEnd> read_patience_end(const std::filesystem::path& run);

/// Writes the file durably.
Result<> write_patience_end(const std::filesystem::path& run, const PatienceEnd& end);

/// The line that a process which goes on says; `patience`: its own eval.patience.
std::string to_text(const PatienceEnd& end, std::uint32_t patience);

}  // namespace swarm::cli
