// Another program, run to its end: for what the system does better than we could.
// Invariant: it does not outlive us (PR_SET_PDEATHSIG). Its output goes to our stderr, its input is
// empty. Ctrl-C ends it, and we go on, so that the caller can clear up.
// Threading: the main thread, and no other one at the time. Errors: an exit code.
#pragma once

#include <string>
#include <vector>

namespace swarm::cli {

/// Exit code, 128 + signal after a signal, 127 when it cannot be started. The program is looked for
/// in PATH unless its name has a slash.
int run_command(const std::vector<std::string>& command);

}  // namespace swarm::cli
