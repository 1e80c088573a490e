// CPU time of this thread: other programs that run in between cost it nothing but cache.
// Unit: seconds; only differences mean something.
#pragma once

#include <ctime>

namespace swarm::bench {

inline double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace swarm::bench
