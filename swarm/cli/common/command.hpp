// Another program, run to its end: for work that the system's programs do better than code of ours.
// Invariant: it does not outlive this process (PR_SET_PDEATHSIG). Its output goes to our stderr,
// its input is empty. Threading: the main thread, while no other thread runs. Errors: an exit code.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace swarm::cli {

/// While an object of this class lives, SIGINT and SIGTERM end the command that runs, and this
/// process goes on to clear up.
class CaughtSignals {
 public:
    CaughtSignals();
    CaughtSignals(const CaughtSignals&) = delete;
    CaughtSignals& operator=(const CaughtSignals&) = delete;
    /// The signals do again what they did before.
    ~CaughtSignals();

    /// The first signal that came; nullopt: none did.
    [[nodiscard]] static std::optional<int> number();
};

/// Returns the exit code: 128 + signal after a signal, 127 when the program cannot be started. The
/// program is looked for in PATH unless its name has a slash.
int run_command(const std::vector<std::string>& command);

}  // namespace swarm::cli
