// `swarm serve --model`: serves layers of a model of others to sessions.
// Threading: the main thread; loading and computing on the device's. Errors: an exit code, and one
// line on stderr.
#pragma once

#include "swarm/cli/console.hpp"
#include "swarm/cli/options.hpp"

namespace swarm::cli {

int serve_model(const ServeOptions& options, Console& console);

}  // namespace swarm::cli
