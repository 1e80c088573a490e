// The settings with which a run goes on, beside those with which it went on until now: what a
// person hears of them, and what `train --resume` refuses.
// Invariant: nothing here writes, so a refused process leaves the run as it is.
// Threading: one thread. Errors: Mismatch (Reject): one line with every refused key, its value
// before and now, and the remedy.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/run/config.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace swarm::cli {

/// The progress of a run, on disk and in its log.
struct RunProgress {
    std::uint64_t steps = 0;                  // steps that were made
    std::optional<std::uint64_t> checkpoint;  // step of the newest whole one; none: there is none
    bool has_commits = false;  // it was trained by peers, which may still hold its states
};

struct ResumeRequest {
    std::string folder;  // folder of the run, for the error
    bool accept_changes = false;
    bool single = false;
};

/// Returns a line for each key whose new value is taken. A value that needs --accept-changes or
/// can never change is the error.
Result<std::vector<std::string>> judge_changes(
    const run::RunConfig& was,
    const run::RunConfig& now,
    const RunProgress& progress,
    const ResumeRequest& request
);

}  // namespace swarm::cli
