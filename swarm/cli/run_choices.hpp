// `train --single --codecs-from DIR`: what the coordinator of another run has chosen, codecs and
// splits, from its commit log, so that one process repeats it bit for bit.
// Errors: Usage (Reject): no such run, one of another shape, or a run that chooses nothing; those
// of the store and the log.
#pragma once

#include "swarm/run/commit_log.hpp"
#include "swarm/run/config.hpp"

#include <string>
#include <vector>

namespace swarm::cli {

/// Each in order of step.
struct RunChoices {
    std::vector<run::CodecChange> codecs;
    std::vector<run::SplitChange> splits;
};

/// `config`: of the run that shall repeat it. Nothing for an empty folder, or where the other run
/// kept what it began with.
Result<RunChoices> read_run_choices(const std::string& folder, const run::RunConfig& config);

}  // namespace swarm::cli
