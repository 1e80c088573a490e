// Another program, run to its end: for what the system does better than we could.
// Invariant: it does not outlive us (PR_SET_PDEATHSIG). Its output goes to our stderr, its input is
// empty. Threading: the main thread, and no other one at the time. Errors: an exit code.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace swarm::cli {

/// While one lives, SIGINT and SIGTERM end the command that runs, and we go on to clear up.
class CaughtSignals {
 public:
    CaughtSignals();
    CaughtSignals(const CaughtSignals&) = delete;
    CaughtSignals& operator=(const CaughtSignals&) = delete;
    /// The signals do again what they did before.
    ~CaughtSignals();

    /// The first that came.
    [[nodiscard]] static std::optional<int> number();
};

/// Exit code, 128 + signal after a signal, 127 when it cannot be started. The program is looked for
/// in PATH unless its name has a slash.
int run_command(const std::vector<std::string>& command);

}  // namespace swarm::cli
