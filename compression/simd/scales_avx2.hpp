// The scales of a batch of groups, 8 at a time, with the bits of scale_of() and inverse_of() for
// each one (group_scale.hpp). Private to kernels_avx2.cpp. Functions without state.
#pragma once

#include "compression/simd/group_scale.hpp"
#include "compression/simd/kernels.hpp"

#include <cstddef>
#include <immintrin.h>

// A function that lacks it cannot inline the intrinsics, which is an error of the compiler.
#define SWARM_AVX2 __attribute__((target("avx2,f16c")))

namespace compression::simd::avx2 {

inline constexpr std::size_t kLanes = 8;
inline constexpr std::size_t kVectors = kGroup / kLanes;  // in one group
inline constexpr std::size_t kBatch = 8;  // groups whose scales are computed at once

SWARM_AVX2 inline __m256i magnitude_of(__m256 values) {
    return _mm256_and_si256(
        _mm256_castps_si256(values), _mm256_set1_epi32(static_cast<int>(kMagnitudeMask))
    );
}

SWARM_AVX2 inline __m128i halves_max(__m256i values) {
    return _mm_max_epi32(_mm256_castsi256_si128(values), _mm256_extracti128_si256(values, 1));
}

struct Scales {
    alignas(32) float scale[kBatch];
    alignas(32) float inverse[kBatch];
};

/// Lane k of the result: the largest lane of the k-th vector.
SWARM_AVX2 inline __m128i largest_lanes(const __m128i* four) {
    const __m128i ab =
        _mm_max_epi32(_mm_unpacklo_epi32(four[0], four[1]), _mm_unpackhi_epi32(four[0], four[1]));
    const __m128i cd =
        _mm_max_epi32(_mm_unpacklo_epi32(four[2], four[3]), _mm_unpackhi_epi32(four[2], four[3]));
    return _mm_max_epi32(_mm_unpacklo_epi64(ab, cd), _mm_unpackhi_epi64(ab, cd));
}

/// scale_of() and inverse_of() for the groups of a batch. False: NaN or infinity.
template <std::size_t kSize>
SWARM_AVX2 inline bool scales_of(
    const ScaleRule& rule, const float* values, std::size_t groups, Scales& scales
) {
    __m128i maxima[kBatch];
    for (std::size_t group = 0; group < kBatch; ++group) {
        __m256i largest = _mm256_setzero_si256();
        if (group < groups) {
            const float* const from = values + group * kSize;
            for (std::size_t i = 0; i < kSize / kLanes; ++i) {
                const __m256 eight = _mm256_loadu_ps(from + i * kLanes);
                largest = _mm256_max_epi32(largest, magnitude_of(eight));
            }
        }
        maxima[group] = halves_max(largest);
    }
    const __m256i bits = _mm256_set_m128i(largest_lanes(maxima + 4), largest_lanes(maxima));
    const __m256i not_finite =
        _mm256_cmpgt_epi32(bits, _mm256_set1_epi32(static_cast<int>(kInfinityBits - 1)));
    if (_mm256_movemask_epi8(not_finite) != 0) {
        return false;
    }
    const __m256 largest = _mm256_castsi256_ps(bits);
    const __m256 levels = _mm256_set1_ps(rule.levels);
    const __m256i unused = _mm256_set1_epi32(static_cast<int>(rule.unused_bits));
    const __m256 max = _mm256_set1_ps(rule.max);
    const __m256i step = _mm256_add_epi32(unused, _mm256_set1_epi32(1));
    __m256i scale_bits = _mm256_castps_si256(_mm256_div_ps(largest, levels));
    scale_bits = _mm256_andnot_si256(unused, _mm256_add_epi32(scale_bits, unused));
    const __m256 rounded = _mm256_castsi256_ps(scale_bits);
    const __m256 too_small = _mm256_and_ps(
        _mm256_cmp_ps(rounded, max, _CMP_LT_OQ),
        _mm256_cmp_ps(_mm256_mul_ps(levels, rounded), largest, _CMP_LT_OQ)
    );
    scale_bits =
        _mm256_add_epi32(scale_bits, _mm256_and_si256(_mm256_castps_si256(too_small), step));
    __m256 scale = _mm256_castsi256_ps(scale_bits);
    scale = _mm256_min_ps(_mm256_max_ps(scale, _mm256_set1_ps(kScaleMin)), max);
    const __m256 not_zero = _mm256_cmp_ps(largest, _mm256_set1_ps(kZeroMax), _CMP_GT_OQ);
    _mm256_store_ps(scales.scale, _mm256_and_ps(scale, not_zero));
    const __m256 inverse = _mm256_div_ps(_mm256_set1_ps(1.0F), scale);
    _mm256_store_ps(scales.inverse, _mm256_and_ps(inverse, not_zero));
    return true;
}

}  // namespace compression::simd::avx2
