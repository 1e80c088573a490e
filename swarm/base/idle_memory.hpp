// Gives memory back to the system that this process has freed and does not use again. After
// keep_freed_memory() the allocator keeps it, which suits a run that trains. A process that serves
// texts needs the memory of its busiest minute in that minute alone.
// Invariant: no two orders come within kLooks looks. Threading: note() single strand; the functions
// any. Errors: none. Without glibc nothing is known of free memory, and none is given back.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace swarm {

/// Bytes that the allocator holds and nobody uses. Cost: linear in the free blocks.
std::uint64_t free_heap_bytes();

/// Cost: linear in the free blocks and pages; milliseconds.
void give_memory_back();

/// Decides when to call give_memory_back(), out of looks at regular times.
class IdleMemory {
 public:
    /// Memory that was free at so many looks in a row is not needed.
    static constexpr std::size_t kLooks = 4;
    /// Less than this is not worth a walk through the heap.
    static constexpr std::uint64_t kWorthBytes = 1U << 20;

    /// Takes free_heap_bytes(); returns whether memory should be given back now.
    bool note(std::uint64_t free_bytes);

 private:
    std::array<std::uint64_t, kLooks> latest_{};
    std::size_t looks_ = 0;  // since memory was given back
    /// Fewest bytes that have been free since then. More may be resident only beyond them, because
    /// those that were given back are free, too.
    std::uint64_t fewest_ = 0;
};

}  // namespace swarm
