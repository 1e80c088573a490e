// Part of llama_sessions.hpp: which queries read pages together, over the threads.
#include "stacking/llama/llama_sessions.hpp"

#include <algorithm>

namespace stacking::llama {

using kernels::kPagePositions;

namespace {

/// Heads of one row that read the same keys are cut into equal parts of at most kQueriesMax.
std::size_t heads_at_once(std::size_t group) {
    const std::size_t parts = (group + kernels::kQueriesMax - 1) / kernels::kQueriesMax;
    return (group + parts - 1) / parts;
}

}  // namespace

void LlamaSessions::find_queries(std::size_t first, std::size_t count) {
    const std::size_t kv_heads = weights_->architecture.model.kv_heads;
    const std::size_t group = weights_->architecture.model.heads / kv_heads;
    queries_.clear();
    for (std::size_t row = 0; row < count;) {
        std::size_t rows = 1;  // their positions in a text follow each other
        while (row + rows < count && rows < kernels::kQueriesMax &&
               rows_[first + row + rows].cache == rows_[first + row].cache) {
            ++rows;
        }
        std::size_t heads = 1;
        if (heads_at_once(group) > rows) {
            rows = 1;
            heads = heads_at_once(group);
        }
        for (std::size_t kv_head = 0; kv_head < kv_heads; ++kv_head) {
            for (std::size_t head = 0; head < group; head += heads) {
                queries_.push_back(
                    {.row = row,
                     .rows = rows,
                     .kv_head = kv_head,
                     .head = kv_head * group + head,
                     .heads = std::min(heads, group - head)}
                );
            }
        }
        row += rows;
    }
}

void LlamaSessions::attend_to(
    std::size_t layer, std::size_t first, const Queries& some, float* scores
) {
    const KvShape& kv = caches_.shape();
    const models::Architecture& is = weights_->architecture;
    const std::size_t width = is.query_width();
    const std::size_t stride = width + 2 * kv.kv_heads * kv.head_width;
    const Row& at = rows_[first + some.row];
    const bool by_rows = some.heads == 1;
    const std::size_t count = some.rows * some.heads;
    const std::size_t to_stride = by_rows ? width : kv.head_width;
    float* const to = attended_.data() + some.row * width + some.head * kv.head_width;
    if (at.cache == nullptr) {
        for (std::size_t i = 0; i < count; ++i) {
            std::fill_n(to + i * to_stride, kv.head_width, 0.0F);
        }
        return;
    }
    const std::size_t keys = kv.offset(layer, some.kv_head);
    const kernels::HeadCache cache{
        .pages = at.cache->pages.data(),
        .keys = keys,
        .values = keys + kv.head_width * kPagePositions,
        .positions = at.position + std::size_t{1},
        .head_width = kv.head_width,
        .step = by_rows ? std::size_t{1} : 0,
        .window = is.attention_of(weights_->first_layer + static_cast<std::uint32_t>(layer)).window,
        .scale = static_cast<float>(is.traits.attention_scale),
        .soft_cap = static_cast<float>(is.traits.attention_soft_cap)};
    const float* const from = wide_.data() + some.row * stride + some.head * kv.head_width;
    kernels_.attend(cache, {from, count, by_rows ? stride : kv.head_width}, scores, to, to_stride);
}

void LlamaSessions::attend_all(std::size_t layer, std::size_t first, std::size_t count) {
    const models::Architecture& is = weights_->architecture;
    attended_.resize(count * is.query_width());
    std::size_t pages = 0;
    for (std::size_t row = 0; row < count; ++row) {
        pages = std::max<std::size_t>(pages, rows_[first + row].position / kPagePositions + 1);
    }
    for (std::vector<float>& scores : scores_) {
        scores.resize(std::max(scores.size(), kernels::kQueriesMax * pages * kPagePositions));
    }
    find_queries(first, count);
    const std::size_t work = 2 * pages * kPagePositions * is.query_width() * count;
    workers_->split(
        queries_.size(),
        work / std::max<std::size_t>(1, queries_.size()),
        [&](swarm::UnitRange units, std::size_t thread) {
            for (std::size_t unit = units.begin; unit < units.end; ++unit) {
                attend_to(layer, first, queries_[unit], scores_[thread].data());
            }
        }
    );
}

}  // namespace stacking::llama
