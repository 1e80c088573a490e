// Turns a real run, as `swarm local --json` or `swarm train --json` wrote it, into a scenario for
// the simulator, with its peers, steps, microbatches, policy, and the times of kills and freezes.
// A forward is one work unit. A peer has 1000 / service_ms units per second, or without
// --service-ms the speed that the senders of its work measured; a peer that nobody measured has the
// median speed of its stage.
// Errors: Malformed (no such report), Usage (a run in which nobody measured a peer, or events that
// no scenario repeats); both Reject, one line. Threading: stateless.
#pragma once

#include "swarm/base/result.hpp"

#include <string>
#include <string_view>

namespace swarm::cli {

/// Returns the scenario as TOML. `file` names the report in errors and in the scenario.
Result<std::string> scenario_of_run(std::string_view json, const std::string& file);

}  // namespace swarm::cli
