#include "swarm/base/idle_memory.hpp"

#include <algorithm>
#include <malloc.h>

namespace swarm {

#ifdef __GLIBC__

std::uint64_t free_heap_bytes() {
    return ::mallinfo2().fordblks;
}

void give_memory_back() {
    ::malloc_trim(0);
}

#else

std::uint64_t free_heap_bytes() {
    return 0;
}

void give_memory_back() {}

#endif

bool IdleMemory::note(std::uint64_t free_bytes) {
    latest_[looks_++ % latest_.size()] = free_bytes;
    fewest_ = std::min(fewest_, free_bytes);
    const std::uint64_t idle = *std::ranges::min_element(latest_);
    if (looks_ < latest_.size() || idle < fewest_ + kWorthBytes) {
        return false;
    }
    looks_ = 0;
    fewest_ = free_bytes;
    return true;
}

}  // namespace swarm
