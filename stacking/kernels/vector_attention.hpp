// The attention of kernels.hpp on vectors, for the files that include vector_kernels.hpp. A page of
// keys is a matrix (head width, positions), one of values a matrix (positions, head width). So
// scores and answers are products of several queries by a matrix, in tiles of registers.
// Invariant: each query does the operations of the scalar path, in its order, whatever others are
// in the call; positions that a query does not see are never multiplied into its answer.
// Threading, errors: those of kernels.hpp. Cost: a page is read once for all queries of a call.
#pragma once

#include "stacking/kernels/vector_kernels.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace stacking::kernels {
namespace {

static_assert(kQueriesMax == kTileRows);

/// sums[r][o] += sum over k of x[r][k] * matrix[k][o]; the strides are in values.
struct AddedProduct {
    const float* matrix = nullptr;
    std::size_t matrix_stride = 0;
    const float* x = nullptr;
    std::size_t x_stride = 0;
    std::size_t inputs = 0;
    float* sums = nullptr;
    std::size_t sum_stride = 0;
    std::size_t outputs = 0;
};

/// Adds for kRows rows and kVectors vectors of outputs, from `first` on.
template <std::size_t kRows, std::size_t kVectors>
SWARM_TARGET inline void add_tile(const AddedProduct& of, std::size_t first) {
    Vec sums[kRows][kVectors];
    for (std::size_t r = 0; r < kRows; ++r) {
        for (std::size_t v = 0; v < kVectors; ++v) {
            sums[r][v] = load(of.sums + r * of.sum_stride + first + v * kWidth);
        }
    }
    const float* row = of.matrix + first;
    for (std::size_t k = 0; k < of.inputs; ++k, row += of.matrix_stride) {
        Vec loaded[kVectors];
        for (std::size_t v = 0; v < kVectors; ++v) {
            loaded[v] = load(row + v * kWidth);
        }
        for (std::size_t r = 0; r < kRows; ++r) {
            const Vec value = spread(of.x[r * of.x_stride + k]);
            for (std::size_t v = 0; v < kVectors; ++v) {
                sums[r][v] = fma(value, loaded[v], sums[r][v]);
            }
        }
    }
    for (std::size_t r = 0; r < kRows; ++r) {
        for (std::size_t v = 0; v < kVectors; ++v) {
            store(of.sums + r * of.sum_stride + first + v * kWidth, sums[r][v]);
        }
    }
}

template <std::size_t kRows>
SWARM_TARGET void add_rows_of(const AddedProduct& of) {
    constexpr std::size_t kVectors = tile_vectors(kRows);
    std::size_t first = 0;
    for (; first + kVectors * kWidth <= of.outputs; first += kVectors * kWidth) {
        add_tile<kRows, kVectors>(of, first);
    }
    for (; first + kWidth <= of.outputs; first += kWidth) {
        add_tile<kRows, 1>(of, first);
    }
    for (std::size_t r = 0; r < kRows; ++r) {
        for (std::size_t o = first; o < of.outputs; ++o) {
            float sum = of.sums[r * of.sum_stride + o];
            for (std::size_t k = 0; k < of.inputs; ++k) {
                sum = std::fma(of.x[r * of.x_stride + k], of.matrix[k * of.matrix_stride + o], sum);
            }
            of.sums[r * of.sum_stride + o] = sum;
        }
    }
}

inline constexpr std::array<void (*)(const AddedProduct&), kQueriesMax> kAddRowsOf{
    add_rows_of<1>, add_rows_of<2>, add_rows_of<3>, add_rows_of<4>, add_rows_of<5>, add_rows_of<6>};

/// Replaces each score by exp(score - largest) and returns the sum.
SWARM_TARGET inline float soften(float* scores, std::size_t count) {
    Vec largest = spread(-INFINITY);
    for (std::size_t at = 0; at < count; at += kWidth) {
        largest = max(load(scores + at), largest);
    }
    alignas(64) float each[kWidth];
    store(each, largest);
    const Vec most = spread(*std::max_element(each, each + kWidth));
    Vec sums[kLaneVectors];
    std::fill_n(sums, kLaneVectors, zero());
    for (std::size_t at = 0; at < count; at += kLanes) {
        for (std::size_t v = 0; v < kLaneVectors; ++v) {
            const Vec weight = exponential_of(sub(load(scores + at + v * kWidth), most));
            store(scores + at + v * kWidth, weight);
            sums[v] = add(sums[v], weight);
        }
    }
    return sum_lanes(sums);
}

/// Computes the scores of all queries for the whole pages [begin, end), of positions that a query
/// does not see, too. `scores`: (queries, end).
SWARM_TARGET inline void score_pages(
    const HeadCache& cache, const Rows& queries, std::size_t begin, std::size_t end, float* scores
) {
    const Vec scale = spread(scale_of(cache));
    for (std::size_t row = 0; row < queries.count; ++row) {
        std::fill(scores + row * end + begin, scores + row * end + end, 0.0F);
    }
    for (std::size_t page = begin; page < end; page += kPagePositions) {
        kAddRowsOf[queries.count - 1](
            {.matrix = cache.pages[page / kPagePositions] + cache.keys,
             .matrix_stride = kPagePositions,
             .x = queries.values,
             .x_stride = queries.stride,
             .inputs = cache.head_width,
             .sums = scores + page,
             .sum_stride = end,
             .outputs = kPagePositions}
        );
    }
    for (std::size_t row = 0; row < queries.count; ++row) {
        for (float* at = scores + row * end + begin; at < scores + row * end + end; at += kWidth) {
            store(at, mul(load(at), scale));
        }
    }
}

/// Adds weights x values of the positions [begin, end) to the answers of some queries. `weights`:
/// those of the first of these queries, by position.
SWARM_TARGET inline void add_values(
    const HeadCache& cache,
    const Rows& weights,
    std::size_t begin,
    std::size_t end,
    float* answers,
    std::size_t stride
) {
    for (std::size_t next = 0; begin < end; begin = next) {
        next = std::min((begin / kPagePositions + 1) * kPagePositions, end);
        const float* const values = cache.pages[begin / kPagePositions] + cache.values;
        kAddRowsOf[weights.count - 1](
            {.matrix = values + begin % kPagePositions * cache.head_width,
             .matrix_stride = cache.head_width,
             .x = weights.values + begin,
             .x_stride = weights.stride,
             .inputs = next - begin,
             .sums = answers,
             .sum_stride = stride,
             .outputs = cache.head_width}
        );
    }
}

SWARM_TARGET void attend(
    const HeadCache& cache, const Rows& queries, float* scores, float* out, std::size_t out_stride
) {
    const std::size_t last = queries.count - 1;
    const std::size_t begin = first_page(cache, 0);
    const std::size_t end = whole_pages(positions_of(cache, last));
    score_pages(cache, queries, begin, end, scores);
    float inverse[kQueriesMax] = {};
    for (std::size_t row = 0; row < queries.count; ++row) {
        float* const own = scores + row * end;
        const std::size_t from = first_page(cache, row);
        const std::size_t seen = positions_of(cache, row);
        const std::size_t to = whole_pages(seen);
        if (cache.soft_cap > 0) {
            soft_cap(own + from, to - from, cache.soft_cap);
        }
        std::fill(own + from, own + first_seen(cache, row), -INFINITY);
        std::fill(own + seen, own + to, -INFINITY);
        inverse[row] = 1.0F / soften(own + from, to - from);
        std::fill_n(out + row * out_stride, cache.head_width, 0.0F);
    }
    // A position that all queries see is read once for all of them.
    const std::size_t seen_by_all = positions_of(cache, 0);
    const std::size_t all_from = std::min(first_page(cache, last), seen_by_all);
    for (std::size_t row = 0; row < queries.count; ++row) {
        const Rows own{scores + row * end, 1, end};
        add_values(
            cache, own, first_page(cache, row), all_from, out + row * out_stride, out_stride
        );
    }
    add_values(cache, {scores, queries.count, end}, all_from, seen_by_all, out, out_stride);
    for (std::size_t row = 0; row < queries.count; ++row) {
        const Rows own{scores + row * end, 1, end};
        const std::size_t from = std::max(first_page(cache, row), seen_by_all);
        float* const answer = out + row * out_stride;
        add_values(cache, own, from, positions_of(cache, row), answer, out_stride);
        for (std::size_t d = 0; d < cache.head_width; ++d) {
            answer[d] *= inverse[row];
        }
    }
}

}  // namespace
}  // namespace stacking::kernels
