// Gives memory back to the system that this process has freed and does not use again. After
// keep_freed_memory() the allocator keeps it, because each step of a run takes the same sizes anew.
// A download, a snapshot or the busiest minute of a server takes memory that is needed then alone.
// Invariant: no two orders come within the looks of the constructor.
// Threading: note() single strand; the functions any. Errors: none. Without glibc nothing is known
// of free memory, and none is given back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace swarm {

/// Bytes that the allocator holds and nobody uses. Cost: linear in the free blocks.
std::uint64_t free_heap_bytes();

/// Cost: linear in the free blocks and pages; milliseconds.
void give_memory_back();

/// Decides when to call give_memory_back(), out of looks at regular times.
class IdleMemory {
 public:
    /// Memory of a server that was free at so many looks in a row is not needed.
    static constexpr std::size_t kLooks = 4;
    /// The same for a peer that trains: a long step must not pay for its pages anew.
    static constexpr std::size_t kTrainingLooks = 12;
    /// Less than this is not worth a walk through the heap.
    static constexpr std::uint64_t kWorthBytes = 1U << 20;

    /// REQUIRES: looks > 0.
    explicit IdleMemory(std::size_t looks = kLooks) : latest_(looks) {}

    /// Takes free_heap_bytes(); returns whether memory should be given back now.
    bool note(std::uint64_t free_bytes);

 private:
    std::vector<std::uint64_t> latest_;
    std::size_t looks_ = 0;  // since memory was given back
    /// Fewest bytes that have been free since then. More may be resident only beyond them, because
    /// those that were given back are free, too.
    std::uint64_t fewest_ = 0;
};

}  // namespace swarm
