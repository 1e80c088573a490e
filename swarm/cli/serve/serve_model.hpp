// `swarm serve --model`: serves layers of a model to sessions.
// Threading: the main thread; the thread of the device loads and computes. Errors: an exit code,
// and one line on stderr.
#pragma once

#include "swarm/cli/serve/serve.hpp"
#include "swarm/cli/terminal/console.hpp"

namespace swarm::cli {

/// Returns the exit code.
int serve_model(const ServeOptions& options, Console& console);

}  // namespace swarm::cli
