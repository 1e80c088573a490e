// A queue of items that are still to happen, ordered by time; items of equal time keep the order in
// which they were scheduled, so that runs repeat exactly.
// An urgent item comes before all others of its time: an item that was held stays ahead of the
// items that follow it.
// Structure: a 4-ary heap of 16-byte entries, so that the four children of an entry are one cache
// line; the items are kept apart from it.
// Limits: 2^24 items at once and 2^39 ever, about two days at 3 M items per second.
// Cost: O(log size) per call.
#pragma once

#include "swarm/base/check.hpp"
#include "swarm/base/units.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace sim {

template <class Item>
class TimedQueue {
 public:
    [[nodiscard]] bool empty() const { return heap_.empty(); }

    [[nodiscard]] std::size_t size() const { return heap_.size(); }

    [[nodiscard]] swarm::TimePoint next_time() const {
        return heap_.empty() ? swarm::kNever : heap_.front().at;
    }

    /// Returns the item that pop() would give; the queue is not empty.
    [[nodiscard]] const Item& front() const { return slots_[heap_.front().order & kSlotMask]; }

    void push(swarm::TimePoint at, Item item) { push(at, std::move(item), kNormal); }

    void push_urgent(swarm::TimePoint at, Item item) { push(at, std::move(item), 0); }

    Item pop() {
        const std::uint64_t slot = heap_.front().order & kSlotMask;
        free_slots_.push_back(static_cast<std::uint32_t>(slot));
        const Entry last = heap_.back();
        heap_.pop_back();
        if (!heap_.empty()) {
            sift_down(last);
        }
        return std::move(slots_[slot]);
    }

 private:
    static constexpr std::size_t kArity = 4;
    static constexpr std::uint64_t kSlotBits = 24;
    static constexpr std::uint64_t kSlotMask = (1ULL << kSlotBits) - 1;
    static constexpr std::uint64_t kNormal = 1ULL << 63;

    struct Entry {
        swarm::TimePoint at;
        std::uint64_t order;  // normal or urgent: 1 bit, sequence: 39, slot: 24

        [[nodiscard]] bool happens_before(const Entry& other) const {
            return at < other.at || (at == other.at && order < other.order);
        }
    };

    void push(swarm::TimePoint at, Item item, std::uint64_t urgency) {
        std::uint64_t slot = slots_.size();
        if (free_slots_.empty()) {
            SWARM_ASSERT(slot < kSlotMask);
            slots_.push_back(std::move(item));
        } else {
            slot = free_slots_.back();
            free_slots_.pop_back();
            slots_[slot] = std::move(item);
        }
        SWARM_ASSERT(pushed_ < (1ULL << (63 - kSlotBits)));
        heap_.push_back({});
        sift_up({at, urgency | (pushed_++ << kSlotBits) | slot});
    }

    void sift_up(const Entry& entry) {
        std::size_t hole = heap_.size() - 1;
        while (hole > 0) {
            const std::size_t parent = (hole - 1) / kArity;
            if (!entry.happens_before(heap_[parent])) {
                break;
            }
            heap_[hole] = heap_[parent];
            hole = parent;
        }
        heap_[hole] = entry;
    }

    void sift_down(const Entry& entry) {
        std::size_t hole = 0;
        for (std::size_t child = 1; child < heap_.size(); child = hole * kArity + 1) {
            const std::size_t end = std::min(child + kArity, heap_.size());
            std::size_t first = child;
            for (std::size_t other = child + 1; other < end; ++other) {
                first = heap_[other].happens_before(heap_[first]) ? other : first;
            }
            if (!heap_[first].happens_before(entry)) {
                break;
            }
            heap_[hole] = heap_[first];
            hole = first;
        }
        heap_[hole] = entry;
    }

    std::vector<Entry> heap_;
    std::vector<Item> slots_;
    std::vector<std::uint32_t> free_slots_;
    std::uint64_t pushed_ = 0;
};

}  // namespace sim
