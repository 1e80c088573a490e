// `swarm generate --model`: a model of others, whole, in this process.
// Threading: the main thread, which computes. Errors: an exit code, and one line on stderr.
#pragma once

#include "swarm/cli/console.hpp"
#include "swarm/cli/options.hpp"

namespace swarm::cli {

/// Text to stdout as it comes, speeds to stderr.
int generate_alone(const GenerateOptions& options, Console& console);

}  // namespace swarm::cli
