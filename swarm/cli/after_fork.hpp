// What every child process of ours does first, and what execve() wants of its texts.
// Threading: between fork() and exec only async-signal-safe calls are allowed; end_with_parent() is
// one.
#pragma once

#include <csignal>
#include <string>
#include <sys/prctl.h>
#include <unistd.h>
#include <vector>

namespace swarm::cli {

/// What shells say of a program that cannot be started.
inline constexpr int kNotStarted = 127;

/// In the child: it is killed when its parent dies, even if that has happened already.
inline void end_with_parent(pid_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) {
        ::_exit(kNotStarted);
    }
}

/// Valid while the texts are; ends with null.
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
