// AVX2 and F16C, 8 values at a time. The scalar path says what each loop computes.
#include "compression/simd/draw.hpp"
#include "compression/simd/group_scale.hpp"
#include "compression/simd/kernels.hpp"
#include "compression/simd/scales_avx2.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <immintrin.h>

namespace compression::simd {
namespace {

using namespace avx2;

SWARM_AVX2 inline std::uint32_t lanes_max(__m256i values) {
    __m128i four = halves_max(values);
    four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0xb1));
    return static_cast<std::uint32_t>(_mm_cvtsi128_si32(four));
}

SWARM_AVX2 std::uint32_t largest_magnitude(const float* values, std::size_t count) {
    __m256i largest = _mm256_setzero_si256();
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        largest = _mm256_max_epi32(largest, magnitude_of(_mm256_loadu_ps(values + i)));
    }
    return std::max(lanes_max(largest), scalar_kernels().largest_magnitude(values + i, count - i));
}

/// 16-bit numbers in the low halves of the lanes of two vectors, in order.
SWARM_AVX2 inline __m256i pack_halves(__m256i low, __m256i high) {
    return _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xd8);
}

SWARM_AVX2 inline __m256i bf16_of(__m256 values) {
    const __m256i bits = _mm256_castps_si256(values);
    const __m256i sign = _mm256_srli_epi32(
        _mm256_andnot_si256(_mm256_set1_epi32(static_cast<int>(kMagnitudeMask)), bits), 16
    );
    const __m256i magnitude = _mm256_min_epi32(magnitude_of(values), _mm256_set1_epi32(0x7f7f7fff));
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(magnitude, 16), _mm256_set1_epi32(1));
    const __m256i rounded =
        _mm256_add_epi32(_mm256_add_epi32(magnitude, _mm256_set1_epi32(0x7fff)), odd);
    return _mm256_or_si256(sign, _mm256_srli_epi32(rounded, 16));
}

SWARM_AVX2 void encode_bf16(const float* values, std::size_t count, std::byte* out) {
    std::size_t i = 0;
    for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
        const __m256i packed = pack_halves(
            bf16_of(_mm256_loadu_ps(values + i)), bf16_of(_mm256_loadu_ps(values + i + kLanes))
        );
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 2 * i), packed);
    }
    scalar_kernels().encode_bf16(values + i, count - i, out + 2 * i);
}

SWARM_AVX2 void decode_bf16(const std::byte* bytes, std::size_t count, float* out) {
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + 2 * i));
        const __m256i wide = _mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16);
        _mm256_storeu_ps(out + i, _mm256_castsi256_ps(wide));
    }
    scalar_kernels().decode_bf16(bytes + 2 * i, count - i, out + i);
}

SWARM_AVX2 void encode_fp16(const float* values, std::size_t count, std::byte* out) {
    const __m256i max = _mm256_castps_si256(_mm256_set1_ps(65504.0F));
    const __m256 sign_bit = _mm256_set1_ps(-0.0F);
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        const __m256 value = _mm256_loadu_ps(values + i);
        const __m256 magnitude = _mm256_castsi256_ps(_mm256_min_epi32(magnitude_of(value), max));
        const __m256 clamped = _mm256_or_ps(magnitude, _mm256_and_ps(value, sign_bit));
        _mm_storeu_si128(
            reinterpret_cast<__m128i*>(out + 2 * i),
            _mm256_cvtps_ph(clamped, _MM_FROUND_TO_NEAREST_INT)
        );
    }
    scalar_kernels().encode_fp16(values + i, count - i, out + 2 * i);
}

SWARM_AVX2 void decode_fp16(const std::byte* bytes, std::size_t count, float* out) {
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + 2 * i));
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(halves));
    }
    scalar_kernels().decode_fp16(bytes + 2 * i, count - i, out + i);
}

/// Four vectors of small integers become 32 bytes, in order.
SWARM_AVX2 inline __m256i pack_bytes(const __m256i* four) {
    const __m256i packed = _mm256_packs_epi16(
        _mm256_packs_epi32(four[0], four[1]), _mm256_packs_epi32(four[2], four[3])
    );
    return _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

SWARM_AVX2 inline __m256i nearest_level(const float* from, __m256 inverse) {
    return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(from), inverse));
}

SWARM_AVX2 inline __m256i nearest_32(const float* from, __m256 inverse) {
    __m256i levels[4];
    for (std::size_t i = 0; i < 4; ++i) {
        levels[i] = nearest_level(from + i * kLanes, inverse);
    }
    return pack_bytes(levels);
}

/// Calls write(values, scale, inverse, group, out) for each group. False: NaN or infinity. The
/// writers are classes, not lambdas: a lambda does not inherit the target of its function.
template <std::size_t kBytes, std::size_t kSize = kGroup, class Writer>
SWARM_AVX2 inline bool encode_groups(
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
            const __m256 inverse = _mm256_broadcast_ss(scales.inverse + i);
            write(values + group * kSize, scales.scale[i], inverse, group, out + group * kBytes);
        }
    }
    return true;
}

template <std::size_t kSize>
struct Int8Writer {
    SWARM_AVX2 void operator()(
        const float* from, float scale, __m256 inverse, std::size_t, std::byte* to
    ) const {
        std::memcpy(to, &scale, sizeof scale);
        auto* const steps = reinterpret_cast<__m256i*>(to + sizeof scale);
        for (std::size_t i = 0; i < kSize / 32; ++i) {
            _mm256_storeu_si256(steps + i, nearest_32(from + 32 * i, inverse));
        }
    }
};

template <std::size_t kSize>
SWARM_AVX2 bool encode_int8(const float* values, std::size_t groups, std::byte* out) {
    return encode_groups<sizeof(float) + kSize, kSize>(
        kInt8Rule, values, groups, out, Int8Writer<kSize>{}
    );
}

/// 8 bytes become 8 values, times the scale.
SWARM_AVX2 inline __m256 widened(__m128i levels, __m256 scale) {
    return _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(levels)), scale);
}

SWARM_AVX2 inline void widen(__m128i levels, __m256 scale, float* out) {
    _mm256_storeu_ps(out, widened(levels, scale));
}

/// The loop of decode_int8 and add_int8.
template <bool kAdd, std::size_t kSize>
SWARM_AVX2 bool read_int8(const std::byte* bytes, std::size_t groups, float* out) {
    const __m256i refused = _mm256_set1_epi8(-128);
    for (; groups > 0; --groups, bytes += sizeof(float) + kSize, out += kSize) {
        std::uint32_t scale_bits = 0;
        std::memcpy(&scale_bits, bytes, sizeof scale_bits);
        const __m256 scale = _mm256_set1_ps(std::bit_cast<float>(scale_bits));
        const auto* const levels = reinterpret_cast<const __m256i*>(bytes + sizeof scale_bits);
        __m256i bad = _mm256_setzero_si256();
        for (std::size_t i = 0; i < kSize / 32; ++i) {
            const __m256i equal = _mm256_cmpeq_epi8(_mm256_loadu_si256(levels + i), refused);
            bad = _mm256_or_si256(bad, equal);
        }
        for (std::size_t i = 0; i < kSize / kLanes; ++i) {
            const std::byte* const from = bytes + sizeof scale_bits + i * kLanes;
            float* const to = out + i * kLanes;
            __m256 eight = widened(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)), scale);
            if constexpr (kAdd) {
                eight = _mm256_add_ps(_mm256_loadu_ps(to), eight);
            }
            _mm256_storeu_ps(to, eight);
        }
        if (!is_scale(scale_bits, kInt8Rule.unused_bits, kInt8Rule.max) ||
            _mm256_testz_si256(bad, bad) == 0) {
            return false;
        }
    }
    return true;
}

/// 64 levels, a byte each, become 32 bytes: the low nibble first.
SWARM_AVX2 inline void write_int4(float scale, __m256i low, __m256i high, std::byte* out) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(scale) >> 16;
    std::memcpy(out, &bits, sizeof(std::uint16_t));
    const __m256i nibble = _mm256_set1_epi8(0xf);
    const __m256i weights = _mm256_set1_epi16(0x1001);  // the first byte once, the second 16 times
    const __m256i first = _mm256_maddubs_epi16(_mm256_and_si256(low, nibble), weights);
    const __m256i second = _mm256_maddubs_epi16(_mm256_and_si256(high, nibble), weights);
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi16(first, second), 0xd8);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + sizeof(std::uint16_t)), packed);
}

struct Int4Writer {
    SWARM_AVX2 void operator()(
        const float* from, float scale, __m256 inverse, std::size_t, std::byte* to
    ) const {
        write_int4(scale, nearest_32(from, inverse), nearest_32(from + 32, inverse), to);
    }
};

SWARM_AVX2 bool encode_int4(const float* values, std::size_t groups, std::byte* out) {
    return encode_groups<kInt4GroupBytes>(kInt4Rule, values, groups, out, Int4Writer{});
}

/// Computes draw() of 8 places; `start` is key.low + place * kPlaceStep.
SWARM_AVX2 inline __m256i draws(__m256i start, __m256i key_high) {
    __m256i bits = _mm256_mullo_epi32(
        _mm256_xor_si256(start, _mm256_srli_epi32(start, 16)),
        _mm256_set1_epi32(static_cast<int>(kMixOne))
    );
    bits = _mm256_xor_si256(bits, key_high);
    bits = _mm256_mullo_epi32(
        _mm256_xor_si256(bits, _mm256_srli_epi32(bits, 15)),
        _mm256_set1_epi32(static_cast<int>(kMixTwo))
    );
    return _mm256_xor_si256(bits, _mm256_srli_epi32(bits, 16));
}

/// The levels of 32 values from place `place` on, up or down by the draws.
SWARM_AVX2 inline __m256i drawn_32(
    const float* from, __m256 inverse, GroupKey key, std::uint32_t place
) {
    const __m256i key_high = _mm256_set1_epi32(static_cast<int>(key.high));
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i stride = _mm256_set1_epi32(static_cast<int>(kLanes * kPlaceStep));
    __m256i start = _mm256_add_epi32(
        _mm256_set1_epi32(static_cast<int>(key.low + place * kPlaceStep)),
        _mm256_mullo_epi32(lane, _mm256_set1_epi32(static_cast<int>(kPlaceStep)))
    );
    __m256i levels[4];
    for (std::size_t i = 0; i < 4; ++i) {
        const __m256 value = _mm256_mul_ps(_mm256_loadu_ps(from + i * kLanes), inverse);
        const __m256i fixed =
            _mm256_cvtps_epi32(_mm256_mul_ps(value, _mm256_set1_ps(kFractionOne)));
        const __m256i chance = _mm256_srli_epi32(draws(start, key_high), 32 - kFractionBits);
        levels[i] = _mm256_srai_epi32(_mm256_add_epi32(fixed, chance), kFractionBits);
        start = _mm256_add_epi32(start, stride);
    }
    return _mm256_max_epi8(
        _mm256_min_epi8(pack_bytes(levels), _mm256_set1_epi8(7)), _mm256_set1_epi8(-7)
    );
}

struct DrawnInt4Writer {
    std::uint64_t seed;
    std::uint64_t first_group;

    SWARM_AVX2 void operator()(
        const float* from, float scale, __m256 inverse, std::size_t group, std::byte* to
    ) const {
        const GroupKey key = group_key(seed, first_group + group);
        const __m256i low = drawn_32(from, inverse, key, 0);
        write_int4(scale, low, drawn_32(from + 32, inverse, key, 32), to);
    }
};

SWARM_AVX2 bool encode_int4_stochastic(
    const float* values,
    std::size_t groups,
    std::uint64_t seed,
    std::uint64_t first_group,
    std::byte* out
) {
    const DrawnInt4Writer write{seed, first_group};
    return encode_groups<kInt4GroupBytes>(kInt4Rule, values, groups, out, write);
}

SWARM_AVX2 bool decode_int4(
    const std::byte* bytes, std::size_t groups, float scale_max, float* out
) {
    const __m128i nibble = _mm_set1_epi8(0xf);
    const __m128i eight = _mm_set1_epi8(8);
    for (; groups > 0; --groups, bytes += kInt4GroupBytes, out += kGroup) {
        std::uint16_t half = 0;
        std::memcpy(&half, bytes, sizeof half);
        const std::uint32_t scale_bits = std::uint32_t{half} << 16;
        const __m256 scale = _mm256_set1_ps(std::bit_cast<float>(scale_bits));
        __m128i bad = _mm_setzero_si128();
        for (std::size_t i = 0; i < 2; ++i) {
            const __m128i pairs = _mm_loadu_si128(
                reinterpret_cast<const __m128i*>(bytes + sizeof half + i * sizeof(__m128i))
            );
            const __m128i low = _mm_and_si128(pairs, nibble);
            const __m128i high = _mm_and_si128(_mm_srli_epi16(pairs, 4), nibble);
            bad = _mm_or_si128(
                bad, _mm_or_si128(_mm_cmpeq_epi8(low, eight), _mm_cmpeq_epi8(high, eight))
            );
            const __m128i first = _mm_unpacklo_epi8(low, high);
            const __m128i second = _mm_unpackhi_epi8(low, high);
            // (level ^ 8) - 8 extends the sign of a nibble.
            const __m128i levels[] = {
                _mm_sub_epi8(_mm_xor_si128(first, eight), eight),
                _mm_sub_epi8(_mm_xor_si128(second, eight), eight)};
            for (std::size_t part = 0; part < 2; ++part) {
                float* const to = out + i * 32 + part * 16;
                widen(levels[part], scale, to);
                widen(_mm_srli_si128(levels[part], 8), scale, to + kLanes);
            }
        }
        if (!is_scale(scale_bits, kInt4Rule.unused_bits, scale_max) ||
            _mm_testz_si128(bad, bad) == 0) {
            return false;
        }
    }
    return true;
}

/// One step within vectors: `swapped` has the partner of each lane, `signs` a minus where the lane
/// is the lower one of its pair.
SWARM_AVX2 inline __m256 within(__m256 values, __m256 swapped, __m256 signs) {
    return _mm256_add_ps(swapped, _mm256_xor_ps(values, signs));
}

SWARM_AVX2 void hadamard(const float* values, std::size_t groups, float* out) {
    const __m256 signs_4 = _mm256_setr_ps(0.0F, 0.0F, 0.0F, 0.0F, -0.0F, -0.0F, -0.0F, -0.0F);
    const __m256 signs_2 = _mm256_setr_ps(0.0F, 0.0F, -0.0F, -0.0F, 0.0F, 0.0F, -0.0F, -0.0F);
    const __m256 signs_1 = _mm256_setr_ps(0.0F, -0.0F, 0.0F, -0.0F, 0.0F, -0.0F, 0.0F, -0.0F);
    for (; groups > 0; --groups, values += kGroup, out += kGroup) {
        __m256 work[kVectors];
        for (std::size_t i = 0; i < kVectors; ++i) {
            work[i] = _mm256_loadu_ps(values + i * kLanes);
        }
        for (std::size_t half = kVectors / 2; half > 0; half /= 2) {
            for (std::size_t i = 0; i < kVectors; ++i) {
                if ((i & half) == 0) {
                    const __m256 upper = work[i];
                    const __m256 lower = work[i + half];
                    work[i] = _mm256_add_ps(upper, lower);
                    work[i + half] = _mm256_sub_ps(upper, lower);
                }
            }
        }
        for (std::size_t i = 0; i < kVectors; ++i) {
            __m256 eight = work[i];
            eight = within(eight, _mm256_permute2f128_ps(eight, eight, 1), signs_4);
            eight = within(eight, _mm256_permute_ps(eight, 0x4e), signs_2);
            eight = within(eight, _mm256_permute_ps(eight, 0xb1), signs_1);
            _mm256_storeu_ps(out + i * kLanes, _mm256_mul_ps(eight, _mm256_set1_ps(0.125F)));
        }
    }
}

}  // namespace

const Kernels& avx2_kernels() {
    static constexpr Kernels kernels{
        .path = Path::Avx2,
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
