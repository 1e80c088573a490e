// `swarm local` with a model of others or a stack: finds the parts that are to be served, refuses
// flags that mean nothing then, and runs LocalService.
// Threading: the main thread. Errors: an exit code, and one line on stderr.
#pragma once

#include "swarm/cli/local/local.hpp"
#include "swarm/cli/terminal/console.hpp"

namespace swarm::cli {

/// Returns the exit code.
int serve_locally(const LocalOptions& options, Console& console);

}  // namespace swarm::cli
