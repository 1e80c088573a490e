// `swarm train --single`: a run in this process alone. In mode exact it is the reference that every
// distributed run must equal, bit for bit; in mode sparse it shows the losses of a few replicas.
// Threading: the main thread, which computes. Errors: an exit code, and one line on stderr.
#pragma once

#include "swarm/cli/setup/training_text.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/cli/train/run_choices.hpp"
#include "swarm/cli/train/run_directory.hpp"

namespace swarm::cli {

/// `choices`: those of another run, to be repeated. Returns the exit code.
int train_single(
    const TrainOptions& options,
    RunDirectory directory,
    const RunChoices& choices,
    TrainingText text,
    Console& console
);

}  // namespace swarm::cli
