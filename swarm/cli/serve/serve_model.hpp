// `swarm serve --model`: serves layers of a model to sessions.
// Threading: the main thread; the thread of the device loads and computes. Errors: an exit code,
// and one line on stderr.
#pragma once

#include "swarm/cli/common/peer_process.hpp"
#include "swarm/cli/serve/serve.hpp"
#include "swarm/cli/terminal/console.hpp"

namespace swarm::cli {

/// Returns the exit code; nullopt when the process was sent away. `process`: flags, `towards`, and
/// how long it may stay.
std::optional<int> serve_model(
    const ServeOptions& options, PeerProcess::Options process, Console& console
);

}  // namespace swarm::cli
