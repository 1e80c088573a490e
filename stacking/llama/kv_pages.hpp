// Keys and values of all sessions at one stage, in pages of 64 positions.
//   a page, for each (layer, key/value head): keys (head width, 64), then values (64, head width),
//   all fp32
// Invariant: pages in use, each counted once, never take more than the budget; positions that
// truncate() forgot are never read; a page that caches share is not written.
// Threading: one thread. Errors: Full (RetryElsewhere), TooLarge (Reject); share() has its own.
// Cost: reserve() allocates a page, and drop() frees it at once.
#pragma once

#include "stacking/session_compute.hpp"

#include <map>
#include <memory>

namespace stacking::llama {

struct KvShape {
    std::size_t layers = 0;
    std::size_t kv_heads = 0;
    std::size_t head_width = 0;

    /// Number of floats of the keys and values of one head in one page.
    [[nodiscard]] std::size_t head_floats() const;
    [[nodiscard]] std::size_t bytes_per_position() const;

    [[nodiscard]] std::size_t page_floats() const { return layers * kv_heads * head_floats(); }

    /// Offset in a page, in floats, of the keys of a head of a layer; the values follow them.
    [[nodiscard]] std::size_t offset(std::size_t layer, std::size_t kv_head) const {
        return (layer * kv_heads + kv_head) * head_floats();
    }
};

struct KvCache {
    std::vector<std::shared_ptr<float[]>> owned;  // pages of page_floats() each
    std::vector<const float*> pages;              // the same pages, for the kernels
    std::uint32_t filled = 0;                     // number of filled positions

    [[nodiscard]] std::size_t reserved_positions() const;
};

class KvPages {
 public:
    KvPages(KvShape shape, std::uint32_t context, std::size_t budget_bytes);

    [[nodiscard]] swarm::Result<> reserve(CacheId id, std::uint32_t positions);
    void truncate(CacheId id, std::uint32_t positions);
    void drop(CacheId id);
    void shrink(CacheId id, std::uint32_t positions);
    [[nodiscard]] swarm::Result<> share(CacheId from, CacheId to, std::uint32_t positions);

    /// Returns null when there is no such cache.
    [[nodiscard]] KvCache* find(CacheId id);

    [[nodiscard]] const KvShape& shape() const { return shape_; }

    [[nodiscard]] std::size_t pages_in_use() const { return pages_in_use_; }

    [[nodiscard]] std::size_t pages_max() const { return pages_max_; }

 private:
    void free_pages(KvCache& cache, std::size_t first);

    KvShape shape_;
    std::uint32_t context_;
    std::size_t pages_max_;
    std::size_t pages_in_use_ = 0;
    std::map<CacheId, KvCache> caches_;  // at most pages_max_, because each has a page
};

}  // namespace stacking::llama
