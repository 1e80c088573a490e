// `train --single --codecs-from DIR`: what the coordinator of another run has chosen, from its
// commit log, so that one process repeats it bit for bit.
// Errors: Usage (Reject): no such run, one of another shape, or a run that does not choose; those
// of the store and the log.
#pragma once

#include "swarm/run/config.hpp"
#include "swarm/run/leg_codecs.hpp"

#include <string>
#include <vector>

namespace swarm::cli {

/// `config`: of the run that shall repeat it. Nothing for an empty folder, or where the other run
/// kept what it began with.
Result<std::vector<run::CodecChange>> read_codec_choices(
    const std::string& folder, const run::RunConfig& config
);

}  // namespace swarm::cli
