// A real run, as `swarm local --json` wrote it, as a scenario for the simulator: peers by their
// --service-ms, steps, microbatches, policy, kills and freezes at their times.
// A forward is one work unit, so a peer has 1000 / service_ms units per second.
// Errors: Malformed (no such report), Usage (a peer without --service-ms: its speed is not known);
// both Reject, one line. Threading: stateless.
#pragma once

#include "swarm/base/result.hpp"

#include <string>
#include <string_view>

namespace swarm::cli {

/// The scenario as TOML. `file` names the report in errors and in the scenario.
Result<std::string> scenario_of_run(std::string_view json, const std::string& file);

}  // namespace swarm::cli
