// AVX-512 (F, BW, DQ), 16 values at a time. The scalar path says what each loop computes.
#include "compression/simd/draw.hpp"
#include "compression/simd/group_scale.hpp"
#include "compression/simd/kernels.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <immintrin.h>

// A function that lacks it cannot inline the intrinsics, which is an error of the compiler.
#define SWARM_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq")))

namespace compression::simd {
namespace {

constexpr std::size_t kLanes = 16;
constexpr std::size_t kVectors = kGroup / kLanes;  // in one group
constexpr std::size_t kBatch = 16;                 // groups whose scales are computed at once

SWARM_AVX512 inline __m512i magnitude_of(__m512 values) {
    return _mm512_and_si512(
        _mm512_castps_si512(values), _mm512_set1_epi32(static_cast<int>(kMagnitudeMask))
    );
}

SWARM_AVX512 std::uint32_t largest_magnitude(const float* values, std::size_t count) {
    __m512i largest = _mm512_setzero_si512();
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        largest = _mm512_max_epi32(largest, magnitude_of(_mm512_loadu_ps(values + i)));
    }
    return std::max(
        static_cast<std::uint32_t>(_mm512_reduce_max_epi32(largest)),
        scalar_kernels().largest_magnitude(values + i, count - i)
    );
}

SWARM_AVX512 void encode_bf16(const float* values, std::size_t count, std::byte* out) {
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        const __m512 value = _mm512_loadu_ps(values + i);
        const __m512i magnitude =
            _mm512_min_epi32(magnitude_of(value), _mm512_set1_epi32(0x7f7f7fff));
        const __m512i odd =
            _mm512_and_si512(_mm512_srli_epi32(magnitude, 16), _mm512_set1_epi32(1));
        const __m512i rounded =
            _mm512_add_epi32(_mm512_add_epi32(magnitude, _mm512_set1_epi32(0x7fff)), odd);
        const __m512i sign = _mm512_andnot_si512(
            _mm512_set1_epi32(static_cast<int>(kMagnitudeMask)), _mm512_castps_si512(value)
        );
        const __m512i wide = _mm512_srli_epi32(_mm512_or_si512(sign, rounded), 16);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 2 * i), _mm512_cvtepi32_epi16(wide));
    }
    scalar_kernels().encode_bf16(values + i, count - i, out + 2 * i);
}

SWARM_AVX512 void decode_bf16(const std::byte* bytes, std::size_t count, float* out) {
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes + 2 * i));
        const __m512i wide = _mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16);
        _mm512_storeu_ps(out + i, _mm512_castsi512_ps(wide));
    }
    scalar_kernels().decode_bf16(bytes + 2 * i, count - i, out + i);
}

SWARM_AVX512 void encode_fp16(const float* values, std::size_t count, std::byte* out) {
    const __m512i max = _mm512_castps_si512(_mm512_set1_ps(65504.0F));
    const __m512 sign_bit = _mm512_set1_ps(-0.0F);
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        const __m512 value = _mm512_loadu_ps(values + i);
        const __m512 magnitude = _mm512_castsi512_ps(_mm512_min_epi32(magnitude_of(value), max));
        const __m512 clamped = _mm512_or_ps(magnitude, _mm512_and_ps(value, sign_bit));
        _mm256_storeu_si256(
            reinterpret_cast<__m256i*>(out + 2 * i),
            _mm512_cvtps_ph(clamped, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
        );
    }
    scalar_kernels().encode_fp16(values + i, count - i, out + 2 * i);
}

SWARM_AVX512 void decode_fp16(const std::byte* bytes, std::size_t count, float* out) {
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes + 2 * i));
        _mm512_storeu_ps(out + i, _mm512_cvtph_ps(halves));
    }
    scalar_kernels().decode_fp16(bytes + 2 * i, count - i, out + i);
}

struct Scales {
    alignas(64) float scale[kBatch];
    alignas(64) float inverse[kBatch];
};

/// Lane k of the result: the largest lane of the k-th vector.
SWARM_AVX512 inline __m128i largest_lanes(const __m128i* four) {
    const __m128i ab =
        _mm_max_epi32(_mm_unpacklo_epi32(four[0], four[1]), _mm_unpackhi_epi32(four[0], four[1]));
    const __m128i cd =
        _mm_max_epi32(_mm_unpacklo_epi32(four[2], four[3]), _mm_unpackhi_epi32(four[2], four[3]));
    return _mm_max_epi32(_mm_unpacklo_epi64(ab, cd), _mm_unpackhi_epi64(ab, cd));
}

template <std::size_t kSize>
SWARM_AVX512 inline __m128i group_maxima(const float* values) {
    __m512i largest = magnitude_of(_mm512_loadu_ps(values));
    for (std::size_t i = 1; i < kSize / kLanes; ++i) {
        const __m512 sixteen = _mm512_loadu_ps(values + i * kLanes);
        largest = _mm512_max_epi32(largest, magnitude_of(sixteen));
    }
    const __m256i eight =
        _mm256_max_epi32(_mm512_castsi512_si256(largest), _mm512_extracti64x4_epi64(largest, 1));
    return _mm_max_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
}

/// scale_of() and inverse_of() for the groups of a batch. False: NaN or infinity.
template <std::size_t kSize>
SWARM_AVX512 inline bool scales_of(
    const ScaleRule& rule, const float* values, std::size_t groups, Scales& scales
) {
    alignas(64) __m128i maxima[kBatch];
    for (std::size_t group = 0; group < kBatch; ++group) {
        maxima[group] =
            group < groups ? group_maxima<kSize>(values + group * kSize) : _mm_setzero_si128();
    }
    alignas(64) __m128i lanes[4];
    for (std::size_t i = 0; i < 4; ++i) {
        lanes[i] = largest_lanes(maxima + 4 * i);
    }
    const __m512i bits = _mm512_load_si512(lanes);
    const __m512i infinity = _mm512_set1_epi32(static_cast<int>(kInfinityBits));
    if (_mm512_cmpge_epi32_mask(bits, infinity) != 0) {
        return false;
    }
    const __m512 largest = _mm512_castsi512_ps(bits);
    const __m512 levels = _mm512_set1_ps(rule.levels);
    const __m512i unused = _mm512_set1_epi32(static_cast<int>(rule.unused_bits));
    const __m512i step = _mm512_add_epi32(unused, _mm512_set1_epi32(1));
    const __m512 max = _mm512_set1_ps(rule.max);
    __m512i scale_bits = _mm512_castps_si512(_mm512_div_ps(largest, levels));
    scale_bits = _mm512_andnot_si512(unused, _mm512_add_epi32(scale_bits, unused));
    const __m512 rounded = _mm512_castsi512_ps(scale_bits);
    const __mmask16 too_small = _mm512_mask_cmp_ps_mask(
        _mm512_cmp_ps_mask(rounded, max, _CMP_LT_OQ),
        _mm512_mul_ps(levels, rounded),
        largest,
        _CMP_LT_OQ
    );
    scale_bits = _mm512_mask_add_epi32(scale_bits, too_small, scale_bits, step);
    const __m512 scale = _mm512_min_ps(
        _mm512_max_ps(_mm512_castsi512_ps(scale_bits), _mm512_set1_ps(kScaleMin)), max
    );
    const __mmask16 not_zero = _mm512_cmp_ps_mask(largest, _mm512_set1_ps(kZeroMax), _CMP_GT_OQ);
    _mm512_store_ps(scales.scale, _mm512_maskz_mov_ps(not_zero, scale));
    _mm512_store_ps(scales.inverse, _mm512_maskz_div_ps(not_zero, _mm512_set1_ps(1.0F), scale));
    return true;
}

/// Four vectors of small integers become 64 bytes, in order.
SWARM_AVX512 inline __m512i pack_bytes(const __m512i* four) {
    const __m512i packed = _mm512_packs_epi16(
        _mm512_packs_epi32(four[0], four[1]), _mm512_packs_epi32(four[2], four[3])
    );
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_epi32(order, packed);
}

SWARM_AVX512 inline __m512i nearest_64(const float* from, __m512 inverse) {
    __m512i levels[kVectors];
    for (std::size_t i = 0; i < kVectors; ++i) {
        const __m512 sixteen = _mm512_loadu_ps(from + i * kLanes);
        levels[i] = _mm512_cvtps_epi32(_mm512_mul_ps(sixteen, inverse));
    }
    return pack_bytes(levels);
}

/// Calls write(values, scale, inverse, group, out) for each group. False: NaN or infinity. The
/// writers are classes, not lambdas: a lambda does not inherit the target of its function.
template <std::size_t kBytes, std::size_t kSize = kGroup, class Writer>
SWARM_AVX512 inline bool encode_groups(
    const ScaleRule& rule,
    const float* values,
    std::size_t groups,
    std::byte* out,
    const Writer& write
) {
    Scales scales;
    for (std::size_t begin = 0; begin < groups; begin += kBatch) {
        const std::size_t count = std::min(kBatch, groups - begin);
        if (!scales_of<kSize>(rule, values + begin * kSize, count, scales)) {
            return false;
        }
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t group = begin + i;
            const __m512 inverse = _mm512_set1_ps(scales.inverse[i]);
            write(values + group * kSize, scales.scale[i], inverse, group, out + group * kBytes);
        }
    }
    return true;
}

template <std::size_t kSize>
struct Int8Writer {
    SWARM_AVX512 void operator()(
        const float* from, float scale, __m512 inverse, std::size_t, std::byte* to
    ) const {
        std::memcpy(to, &scale, sizeof scale);
        for (std::size_t i = 0; i < kSize; i += kGroup) {
            _mm512_storeu_si512(to + sizeof scale + i, nearest_64(from + i, inverse));
        }
    }
};

template <std::size_t kSize>
SWARM_AVX512 bool encode_int8(const float* values, std::size_t groups, std::byte* out) {
    return encode_groups<sizeof(float) + kSize, kSize>(
        kInt8Rule, values, groups, out, Int8Writer<kSize>{}
    );
}

/// 16 bytes become 16 values, times the scale.
SWARM_AVX512 inline __m512 widened(__m128i levels, __m512 scale) {
    return _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(levels)), scale);
}

SWARM_AVX512 inline void widen(__m128i levels, __m512 scale, float* out) {
    _mm512_storeu_ps(out, widened(levels, scale));
}

/// The loop of decode_int8 and add_int8.
template <bool kAdd, std::size_t kSize>
SWARM_AVX512 bool read_int8(const std::byte* bytes, std::size_t groups, float* out) {
    for (; groups > 0; --groups, bytes += sizeof(float) + kSize, out += kSize) {
        std::uint32_t scale_bits = 0;
        std::memcpy(&scale_bits, bytes, sizeof scale_bits);
        const __m512 scale = _mm512_set1_ps(std::bit_cast<float>(scale_bits));
        const std::byte* const levels = bytes + sizeof scale_bits;
        __mmask64 bad = 0;
        for (std::size_t i = 0; i < kSize; i += kGroup) {
            bad |= _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(levels + i), _mm512_set1_epi8(-128));
        }
        for (std::size_t i = 0; i < kSize / kLanes; ++i) {
            const std::byte* const from = levels + i * kLanes;
            float* const to = out + i * kLanes;
            __m512 sixteen =
                widened(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)), scale);
            if constexpr (kAdd) {
                sixteen = _mm512_add_ps(_mm512_loadu_ps(to), sixteen);
            }
            _mm512_storeu_ps(to, sixteen);
        }
        if (!is_scale(scale_bits, kInt8Rule.unused_bits, kInt8Rule.max) || bad != 0) {
            return false;
        }
    }
    return true;
}

/// 64 levels, a byte each, become 32 bytes: the low nibble first.
SWARM_AVX512 inline void write_int4(float scale, __m512i levels, std::byte* out) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(scale) >> 16;
    std::memcpy(out, &bits, sizeof(std::uint16_t));
    const __m512i nibbles = _mm512_and_si512(levels, _mm512_set1_epi8(0xf));
    // The first byte once, the second 16 times.
    const __m512i pairs = _mm512_maddubs_epi16(nibbles, _mm512_set1_epi16(0x1001));
    _mm256_storeu_si256(
        reinterpret_cast<__m256i*>(out + sizeof(std::uint16_t)), _mm512_cvtepi16_epi8(pairs)
    );
}

struct Int4Writer {
    SWARM_AVX512 void operator()(
        const float* from, float scale, __m512 inverse, std::size_t, std::byte* to
    ) const {
        write_int4(scale, nearest_64(from, inverse), to);
    }
};

SWARM_AVX512 bool encode_int4(const float* values, std::size_t groups, std::byte* out) {
    return encode_groups<kInt4GroupBytes>(kInt4Rule, values, groups, out, Int4Writer{});
}

/// Computes draw() of 16 places; `start` is key.low + place * kPlaceStep.
SWARM_AVX512 inline __m512i draws(__m512i start, __m512i key_high) {
    __m512i bits = _mm512_mullo_epi32(
        _mm512_xor_si512(start, _mm512_srli_epi32(start, 16)),
        _mm512_set1_epi32(static_cast<int>(kMixOne))
    );
    bits = _mm512_xor_si512(bits, key_high);
    bits = _mm512_mullo_epi32(
        _mm512_xor_si512(bits, _mm512_srli_epi32(bits, 15)),
        _mm512_set1_epi32(static_cast<int>(kMixTwo))
    );
    return _mm512_xor_si512(bits, _mm512_srli_epi32(bits, 16));
}

/// The levels of a group, up or down by the draws.
SWARM_AVX512 inline __m512i drawn_64(const float* from, __m512 inverse, GroupKey key) {
    const __m512i key_high = _mm512_set1_epi32(static_cast<int>(key.high));
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i stride = _mm512_set1_epi32(static_cast<int>(kLanes * kPlaceStep));
    __m512i start = _mm512_add_epi32(
        _mm512_set1_epi32(static_cast<int>(key.low)),
        _mm512_mullo_epi32(lane, _mm512_set1_epi32(static_cast<int>(kPlaceStep)))
    );
    __m512i levels[kVectors];
    for (std::size_t i = 0; i < kVectors; ++i) {
        const __m512 value = _mm512_mul_ps(_mm512_loadu_ps(from + i * kLanes), inverse);
        const __m512i fixed =
            _mm512_cvtps_epi32(_mm512_mul_ps(value, _mm512_set1_ps(kFractionOne)));
        const __m512i chance = _mm512_srli_epi32(draws(start, key_high), 32 - kFractionBits);
        levels[i] = _mm512_srai_epi32(_mm512_add_epi32(fixed, chance), kFractionBits);
        start = _mm512_add_epi32(start, stride);
    }
    return _mm512_max_epi8(
        _mm512_min_epi8(pack_bytes(levels), _mm512_set1_epi8(7)), _mm512_set1_epi8(-7)
    );
}

struct DrawnInt4Writer {
    std::uint64_t seed;
    std::uint64_t first_group;

    SWARM_AVX512 void operator()(
        const float* from, float scale, __m512 inverse, std::size_t group, std::byte* to
    ) const {
        const GroupKey key = group_key(seed, first_group + group);
        write_int4(scale, drawn_64(from, inverse, key), to);
    }
};

SWARM_AVX512 bool encode_int4_stochastic(
    const float* values,
    std::size_t groups,
    std::uint64_t seed,
    std::uint64_t first_group,
    std::byte* out
) {
    const DrawnInt4Writer write{seed, first_group};
    return encode_groups<kInt4GroupBytes>(kInt4Rule, values, groups, out, write);
}

SWARM_AVX512 bool decode_int4(
    const std::byte* bytes, std::size_t groups, float scale_max, float* out
) {
    const __m512i eight = _mm512_set1_epi8(8);
    for (; groups > 0; --groups, bytes += kInt4GroupBytes, out += kGroup) {
        std::uint16_t half = 0;
        std::memcpy(&half, bytes, sizeof half);
        const std::uint32_t scale_bits = std::uint32_t{half} << 16;
        const __m512 scale = _mm512_set1_ps(std::bit_cast<float>(scale_bits));
        const __m512i pairs = _mm512_cvtepu8_epi16(
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes + sizeof half))
        );
        const __m512i nibbles = _mm512_or_si512(
            _mm512_and_si512(pairs, _mm512_set1_epi16(0xf)),
            _mm512_and_si512(_mm512_slli_epi16(pairs, 4), _mm512_set1_epi16(0xf00))
        );
        const __mmask64 bad = _mm512_cmpeq_epi8_mask(nibbles, eight);
        // (level ^ 8) - 8 extends the sign of a nibble.
        const __m512i levels = _mm512_sub_epi8(_mm512_xor_si512(nibbles, eight), eight);
        widen(_mm512_castsi512_si128(levels), scale, out);
        widen(_mm512_extracti32x4_epi32(levels, 1), scale, out + kLanes);
        widen(_mm512_extracti32x4_epi32(levels, 2), scale, out + 2 * kLanes);
        widen(_mm512_extracti32x4_epi32(levels, 3), scale, out + 3 * kLanes);
        if (!is_scale(scale_bits, kInt4Rule.unused_bits, scale_max) || bad != 0) {
            return false;
        }
    }
    return true;
}

/// One step within vectors: `swapped` has the partner of each lane, `lower` the lanes that are the
/// lower ones of their pairs.
SWARM_AVX512 inline __m512 within(__m512 values, __m512 swapped, __mmask16 lower) {
    return _mm512_mask_sub_ps(_mm512_add_ps(swapped, values), lower, swapped, values);
}

SWARM_AVX512 void hadamard(const float* values, std::size_t groups, float* out) {
    for (; groups > 0; --groups, values += kGroup, out += kGroup) {
        __m512 work[kVectors];
        for (std::size_t i = 0; i < kVectors; ++i) {
            work[i] = _mm512_loadu_ps(values + i * kLanes);
        }
        for (std::size_t half = kVectors / 2; half > 0; half /= 2) {
            for (std::size_t i = 0; i < kVectors; ++i) {
                if ((i & half) == 0) {
                    const __m512 upper = work[i];
                    const __m512 lower = work[i + half];
                    work[i] = _mm512_add_ps(upper, lower);
                    work[i + half] = _mm512_sub_ps(upper, lower);
                }
            }
        }
        for (std::size_t i = 0; i < kVectors; ++i) {
            __m512 sixteen = work[i];
            sixteen = within(sixteen, _mm512_shuffle_f32x4(sixteen, sixteen, 0x4e), 0xff00);
            sixteen = within(sixteen, _mm512_shuffle_f32x4(sixteen, sixteen, 0xb1), 0xf0f0);
            sixteen = within(sixteen, _mm512_permute_ps(sixteen, 0x4e), 0xcccc);
            sixteen = within(sixteen, _mm512_permute_ps(sixteen, 0xb1), 0xaaaa);
            _mm512_storeu_ps(out + i * kLanes, _mm512_mul_ps(sixteen, _mm512_set1_ps(0.125F)));
        }
    }
}

}  // namespace

const Kernels& avx512_kernels() {
    static constexpr Kernels kernels{
        .path = Path::Avx512,
        .largest_magnitude = largest_magnitude,
        .encode_bf16 = encode_bf16,
        .decode_bf16 = decode_bf16,
        .encode_fp16 = encode_fp16,
        .decode_fp16 = decode_fp16,
        .encode_int8 = encode_int8<kGroup>,
        .decode_int8 = read_int8<false, kGroup>,
        .add_int8 = read_int8<true, kGroup>,
        .encode_wide_int8 = encode_int8<kWideGroup>,
        .decode_wide_int8 = read_int8<false, kWideGroup>,
        .add_wide_int8 = read_int8<true, kWideGroup>,
        .encode_int4 = encode_int4,
        .encode_int4_stochastic = encode_int4_stochastic,
        .decode_int4 = decode_int4,
        .hadamard = hadamard};
    return kernels;
}

}  // namespace compression::simd
