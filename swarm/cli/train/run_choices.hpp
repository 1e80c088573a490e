// `train --single --codecs-from DIR`: the codecs and splits that the coordinator of another run has
// chosen, from its commit log, so that one process repeats that run bit for bit.
// Errors: Usage (Reject): no such run, one of another shape, or a run that chooses nothing; those
// of the store and the log.
#pragma once

#include "swarm/coordinator/commit_log.hpp"
#include "swarm/run/config.hpp"

#include <string>
#include <vector>

namespace swarm::cli {

/// Both lists are in the order of steps.
struct RunChoices {
    std::vector<run::CodecChange> codecs;
    std::vector<coordinator::SplitChange> splits;
};

/// Reads the choices of the run in `folder`, which the run with `config` is to repeat. Returns none
/// for an empty name, or when the other run kept its first codecs and split.
Result<RunChoices> read_run_choices(const std::string& folder, const run::RunConfig& config);

}  // namespace swarm::cli
