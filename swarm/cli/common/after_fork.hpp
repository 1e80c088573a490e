// The first calls of every child process of this program, and the arguments of execve().
// Threading: between fork() and exec only async-signal-safe calls are allowed; end_with_parent() is
// one.
#pragma once

#include <csignal>
#include <string>
#include <sys/prctl.h>
#include <unistd.h>
#include <vector>

namespace swarm::cli {

/// The exit code that shells use for a program that cannot be started.
inline constexpr int kNotStarted = 127;

/// Called in the child: the child is killed when its parent dies, even if the parent is dead
/// already.
inline void end_with_parent(pid_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) {
        ::_exit(kNotStarted);
    }
}

/// Returns pointers to the texts, then null. They are valid while the texts are.
inline std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> result;
    result.reserve(texts.size() + 1);
    for (std::string& text : texts) {
        result.push_back(text.data());
    }
    result.push_back(nullptr);
    return result;
}

}  // namespace swarm::cli
