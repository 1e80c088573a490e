// `swarm train` with peers: the coordinator role on a host of this process.
// Threading: the main thread. Errors: an exit code, and one line on stderr.
#pragma once

#include "swarm/cli/setup/training_text.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/cli/train/run_directory.hpp"

namespace swarm::cli {

/// Waits for peers and trains until the run is done, fails, or a person ends it. Returns the exit
/// code.
int coordinate(
    const TrainOptions& options, RunDirectory directory, const TrainingText& text, Console& console
);

}  // namespace swarm::cli
