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
    std::vector<std::shared_ptr<float[]>> pages;
    if (more <= pages_max_ - pages_in_use_) {
        try {
            while (pages.size() < more) {
                pages.push_back(std::make_shared<float[]>(shape_.page_floats()));
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
        free_pages(found->second, 0);
        caches_.erase(found);
    }
}

void KvPages::shrink(CacheId id, std::uint32_t positions) {
    if (KvCache* const cache = find(id)) {
        cache->filled = std::min(cache->filled, positions);
        const std::size_t kept = (positions + kPagePositions - 1) / kPagePositions;
        free_pages(*cache, std::max<std::size_t>(kept, 1));
    }
}

swarm::Result<> KvPages::share(CacheId from, CacheId to, std::uint32_t positions) {
    const KvCache* const source = find(from);
    if (source == nullptr || caches_.contains(to)) {
        return Error{
            ErrorCode::NotFound, Reaction::Reject, "no such cache to share, or a used name"};
    }
    if (positions == 0 || positions % kPagePositions != 0 || positions > source->filled) {
        return Error{
            ErrorCode::Mismatch,
            Reaction::Reject,
            "caches share whole pages that are filled, not " + std::to_string(positions) + " of " +
                std::to_string(source->filled) + " positions"};
    }
    const auto count = static_cast<std::ptrdiff_t>(positions / kPagePositions);
    KvCache cache;
    cache.owned.assign(source->owned.begin(), source->owned.begin() + count);
    cache.pages.assign(source->pages.begin(), source->pages.begin() + count);
    cache.filled = positions;
    caches_.emplace(to, std::move(cache));
    return {};
}

/// Frees the pages from number `first` on.
void KvPages::free_pages(KvCache& cache, std::size_t first) {
    while (cache.owned.size() > first) {
        pages_in_use_ -= cache.owned.back().use_count() == 1 ? 1 : 0;
        cache.owned.pop_back();
        cache.pages.pop_back();
    }
}

KvCache* KvPages::find(CacheId id) {
    const auto found = caches_.find(id);
    return found == caches_.end() ? nullptr : &found->second;
}

}  // namespace stacking::llama
