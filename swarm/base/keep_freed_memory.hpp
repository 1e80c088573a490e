// Makes glibc keep memory that the process frees. A process that trains frees and allocates the
// same few sizes in each step, among them the gradients of a whole stage. By default glibc returns
// blocks above 32 MiB to the system at once, so each step pays for the same pages again (a page
// fault and 4 KiB of zeros each): a fifth of all page faults of a run of 27 million parameters, and
// a third of the time of a reduction of 64 MiB.
// main() calls keep_freed_memory() first, before there are threads. Memory: the process keeps what
// is free until swarm/base/idle_memory gives it back, 1 GiB at the end of the heap at most.
#pragma once

#include <malloc.h>

namespace swarm {

inline void keep_freed_memory() {
    constexpr int kKeptBytes = 1 << 30;
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, kKeptBytes);
    mallopt(M_ARENA_MAX, 1);  // one heap for the I/O thread and the compute threads
}

}  // namespace swarm
