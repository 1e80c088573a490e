// Turns a real run, as `swarm local --json` or `swarm train --json` wrote it, into a scenario for
// the simulator, with its peers, steps, microbatches, policy, kills and freezes.
// A forward is one work unit. A peer has 1000 / service_ms units per second, or without
// --service-ms the speed that the senders of its work measured; a peer that nobody measured has the
// median speed of its stage.
// Errors: Malformed (no such report), Usage (a run in which nobody measured a peer, or events that
// no scenario repeats); both Reject, one line. Threading: stateless.
#pragma once

#include "swarm/base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace swarm::cli {

/// When the steps of a simulated run ended, in seconds of virtual time.
struct SimulatedSteps {
    double began_s = 0;
    std::vector<double> ends_s;
};

/// Returns the scenario as TOML. `file` names the report in errors and in the scenario. Faults come
/// at their real times, or at the same places of the same steps as in the real run, if it is known
/// when these steps end in the simulator: early or late in a step a fault costs differently.
Result<std::string> scenario_of_run(
    std::string_view json, const std::string& file, const SimulatedSteps& steps = {}
);

}  // namespace swarm::cli
