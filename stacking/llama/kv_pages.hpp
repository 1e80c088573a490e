// Keys and values of all sessions at one stage, in pages of 64 positions.
//   page    (layer, key/value head): keys (head width, 64), then values (64,
//   head width), fp32
// Invariant: pages in use never take more than the budget; what truncate()
// forgets is never read. Threading: one thread. Errors: Full (RetryElsewhere),
// TooLarge (Reject). Cost: a page is taken when it is reserved and given back
// by drop(), at once.
#pragma once

#include "stacking/session_compute.hpp"

#include <map>
#include <memory>

namespace stacking::llama {

struct KvShape {
    std::size_t layers = 0;
    std::size_t kv_heads = 0;
    std::size_t head_width = 0;

    /// Keys and values of one head in one page.
    [[nodiscard]] std::size_t head_floats() const;
    [[nodiscard]] std::size_t bytes_per_position() const;

    [[nodiscard]] std::size_t page_floats() const { return layers * kv_heads * head_floats(); }

    /// Of a head of a layer, in a page: its keys; its values follow them.
    [[nodiscard]] std::size_t offset(std::size_t layer, std::size_t kv_head) const {
        return (layer * kv_heads + kv_head) * head_floats();
    }
};

struct KvCache {
    std::vector<std::unique_ptr<float[]>> owned;  // page_floats each
    std::vector<const float*> pages;              // the same
    std::uint32_t filled = 0;                     // positions

    [[nodiscard]] std::size_t reserved_positions() const;
};

class KvPages {
 public:
    KvPages(KvShape shape, std::uint32_t context, std::size_t budget_bytes);

    [[nodiscard]] swarm::Result<> reserve(CacheId id, std::uint32_t positions);
    void truncate(CacheId id, std::uint32_t positions);
    void drop(CacheId id);

    /// Null when there is none.
    [[nodiscard]] KvCache* find(CacheId id);

    [[nodiscard]] const KvShape& shape() const { return shape_; }

    [[nodiscard]] std::size_t pages_in_use() const { return pages_in_use_; }

    [[nodiscard]] std::size_t pages_max() const { return pages_max_; }

 private:
    KvShape shape_;
    std::uint32_t context_;
    std::size_t pages_max_;
    std::size_t pages_in_use_ = 0;
    std::map<CacheId, KvCache> caches_;  // each has a page, so there are no more than pages_max_
};

}  // namespace stacking::llama
