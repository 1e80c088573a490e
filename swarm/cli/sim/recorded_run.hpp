// Turns a real run, as `swarm local --json` wrote it, into a scenario for the simulator, with its
// peers by their --service-ms, steps, microbatches, policy, and the times of kills and freezes.
// A forward is one work unit, so a peer has 1000 / service_ms units per second.
// Errors: Malformed (no such report), Usage (a peer without --service-ms: its speed is not known);
// both Reject, one line. Threading: stateless.
#pragma once

#include "swarm/base/result.hpp"

#include <string>
#include <string_view>

namespace swarm::cli {

/// Returns the scenario as TOML. `file` names the report in errors and in the scenario.
Result<std::string> scenario_of_run(std::string_view json, const std::string& file);

}  // namespace swarm::cli
