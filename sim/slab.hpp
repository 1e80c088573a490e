// A store of objects that come and go by the million, each at a place that does not move while the
// object lives.
// Invariant: an index stays taken until it is released; a released object is reused with its old
// content.
// Cost: O(1) per call; memory grows to the largest number alive at once and stays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace sim {

template <class T>
class Slab {
 public:
    using Index = std::uint32_t;

    Index take() {
        if (free_.empty()) {
            grow();
        }
        const Index index = free_.back();
        free_.pop_back();
        return index;
    }

    void release(Index index) { free_.push_back(index); }

    [[nodiscard]] T& operator[](Index index) { return chunks_[index / kChunk][index % kChunk]; }

    [[nodiscard]] std::size_t taken() const { return chunks_.size() * kChunk - free_.size(); }

 private:
    static constexpr Index kChunk = 256;

    void grow() {
        const auto first = static_cast<Index>(chunks_.size() * kChunk);
        chunks_.push_back(std::make_unique<T[]>(kChunk));
        for (Index offset = kChunk; offset > 0; --offset) {
            free_.push_back(first + offset - 1);
        }
    }

    std::vector<std::unique_ptr<T[]>> chunks_;
    std::vector<Index> free_;
};

}  // namespace sim
