// How the program ends: what scripts and `swarm local` rely on.
#pragma once

namespace swarm::cli {

inline constexpr int kDone = 0;
inline constexpr int kRunFailed = 1;  // at run time; also --verify unequal
inline constexpr int kUsage = 2;
inline constexpr int kRejected = 3;  // run file, model or configuration
inline constexpr int kNobody = 4;    // no peers or no coordinator in time

/// 130 after SIGINT, 143 after SIGTERM, as shells say it.
constexpr int after_signal(int number) {
    return 128 + number;
}

}  // namespace swarm::cli
