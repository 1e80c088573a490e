// Numbers that every path of the kernels computes with.
// Threading: constants and pure functions. Errors: none.
#pragma once

#include "stacking/kernels/kernels.hpp"

#include <cmath>

namespace stacking::kernels {

// GELU by tanh is x / (1 + exp(kGeluScale x (1 + kGeluCubic x^2))).
inline constexpr float kGeluScale = -0x1.988454p+0F;  // -2 sqrt(2 / pi)
inline constexpr float kGeluCubic = 0.044715F;

inline float scale_of(const HeadCache& cache) {
    return cache.scale > 0 ? cache.scale : 1.0F / std::sqrt(static_cast<float>(cache.head_width));
}

/// Positions that a query sees, or would see without a window.
inline std::size_t positions_of(const HeadCache& cache, std::size_t query) {
    return cache.positions + query * cache.step;
}

/// Returns the first position that a query sees.
inline std::size_t first_seen(const HeadCache& cache, std::size_t query) {
    const std::size_t positions = positions_of(cache, query);
    return cache.window > 0 && positions > cache.window ? positions - cache.window : 0;
}

/// Returns the first position of the page that has the first position that a query sees.
inline std::size_t first_page(const HeadCache& cache, std::size_t query) {
    return first_seen(cache, query) / kPagePositions * kPagePositions;
}

/// Rounds up.
inline std::size_t whole_pages(std::size_t positions) {
    return (positions + kPagePositions - 1) / kPagePositions * kPagePositions;
}

}  // namespace stacking::kernels
