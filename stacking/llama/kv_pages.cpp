#include "stacking/llama/kv_pages.hpp"

#include "stacking/kernels/kernels.hpp"

#include <algorithm>
#include <new>
#include <string>

namespace stacking::llama {

using kernels::kPagePositions;
using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;

std::size_t KvShape::head_floats() const {
    return 2 * head_width * kPagePositions;
}

std::size_t KvShape::bytes_per_position() const {
    return page_floats() / kPagePositions * sizeof(float);
}

std::size_t KvCache::reserved_positions() const {
    return pages.size() * kPagePositions;
}

KvPages::KvPages(KvShape shape, std::uint32_t context, std::size_t budget_bytes)
    : shape_(shape),
      context_(context),
      pages_max_(budget_bytes / (shape.page_floats() * sizeof(float))) {}

swarm::Result<> KvPages::reserve(CacheId id, std::uint32_t positions) {
    if (positions > context_) {
        return Error{
            ErrorCode::TooLarge,
            Reaction::Reject,
            "a session of " + std::to_string(positions) + " positions; the model has " +
                std::to_string(context_)};
    }
    const auto found = caches_.find(id);
    const std::size_t has = found == caches_.end() ? 0 : found->second.pages.size();
    const std::size_t wants =
        std::max<std::size_t>(1, (positions + kPagePositions - 1) / kPagePositions);
    if (wants <= has) {
        return {};
    }
    const std::size_t more = wants - has;
    std::vector<std::unique_ptr<float[]>> pages;
    if (more <= pages_max_ - pages_in_use_) {
        try {
            while (pages.size() < more) {
                pages.push_back(std::make_unique<float[]>(shape_.page_floats()));
            }
        } catch (const std::bad_alloc&) {  // the budget is larger than the machine's memory
            pages.clear();
        }
    }
    if (pages.empty()) {
        return Error{
            ErrorCode::Full,
            Reaction::RetryElsewhere,
            "needs " + std::to_string(more) + " KV pages; " +
                std::to_string(pages_max_ - pages_in_use_) + " of " + std::to_string(pages_max_) +
                " are free"};
    }
    KvCache& cache = caches_[id];
    for (auto& page : pages) {
        cache.pages.push_back(page.get());
        cache.owned.push_back(std::move(page));
    }
    pages_in_use_ += more;
    return {};
}

void KvPages::truncate(CacheId id, std::uint32_t positions) {
    if (KvCache* const cache = find(id)) {
        cache->filled = std::min(cache->filled, positions);
    }
}

void KvPages::drop(CacheId id) {
    const auto found = caches_.find(id);
    if (found != caches_.end()) {
        pages_in_use_ -= found->second.pages.size();
        caches_.erase(found);
    }
}

KvCache* KvPages::find(CacheId id) {
    const auto found = caches_.find(id);
    return found == caches_.end() ? nullptr : &found->second;
}

}  // namespace stacking::llama
