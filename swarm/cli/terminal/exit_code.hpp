// The exit codes of the program, on which scripts and `swarm local` rely; README.md says what to do
// after each.
#pragma once

namespace swarm::cli {

inline constexpr int kDone = 0;
inline constexpr int kRunFailed = 1;  // while running; also --verify found a difference
inline constexpr int kUsage = 2;      // the command line is not understood
inline constexpr int kRejected = 3;   // a run file, a model or a configuration is refused
inline constexpr int kNobody = 4;     // no peer or no coordinator answered in time

/// Returns 130 after SIGINT and 143 after SIGTERM, as shells do.
constexpr int after_signal(int number) {
    return 128 + number;
}

}  // namespace swarm::cli
