// The kernels for AVX2 and FMA, 8 values at a time.
#include "stacking/blocks/coding.hpp"
#include "stacking/kernels/exponential.hpp"

#include <bit>
#include <cstddef>
#include <immintrin.h>

// A function without this attribute cannot inline the intrinsics; the compiler reports an error.
#define SWARM_TARGET __attribute__((target("avx2,fma,f16c")))

namespace stacking::kernels {
namespace {

// The intrinsics for 16 bits take a short.
// NOLINTNEXTLINE(google-runtime-int): _mm_set1_epi16 takes a short
constexpr short kNotBit14 = static_cast<short>(0xbfff);

using Vec = __m256;
constexpr std::size_t kWidth = 8;

constexpr std::size_t kTileRows = 6;

/// At most 12 of 16 registers hold sums.
constexpr std::size_t tile_vectors(std::size_t rows) {
    return rows == 1 ? 8 : rows <= 3 ? 4 : 2;
}

SWARM_TARGET inline Vec zero() {
    return _mm256_setzero_ps();
}

SWARM_TARGET inline Vec load(const float* at) {
    return _mm256_loadu_ps(at);
}

SWARM_TARGET inline void store(float* at, Vec values) {
    _mm256_storeu_ps(at, values);
}

SWARM_TARGET inline Vec spread(float value) {
    return _mm256_set1_ps(value);
}

SWARM_TARGET inline Vec fma(Vec a, Vec b, Vec c) {
    return _mm256_fmadd_ps(a, b, c);
}

SWARM_TARGET inline Vec add(Vec a, Vec b) {
    return _mm256_add_ps(a, b);
}

SWARM_TARGET inline Vec sub(Vec a, Vec b) {
    return _mm256_sub_ps(a, b);
}

SWARM_TARGET inline Vec mul(Vec a, Vec b) {
    return _mm256_mul_ps(a, b);
}

SWARM_TARGET inline Vec div(Vec a, Vec b) {
    return _mm256_div_ps(a, b);
}

SWARM_TARGET inline Vec max(Vec a, Vec b) {
    return _mm256_max_ps(a, b);
}

SWARM_TARGET inline Vec min(Vec a, Vec b) {
    return _mm256_min_ps(a, b);
}

SWARM_TARGET inline Vec load_bf16(const std::byte* at) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}

SWARM_TARGET inline Vec load_int8(const std::byte* at) {
    const __m128i levels = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(at));
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(levels));
}

using Ints = __m256i;

SWARM_TARGET inline Ints load_ints(const std::byte* at) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}

SWARM_TARGET inline Ints spread_int(std::uint32_t value) {
    return _mm256_set1_epi32(static_cast<int>(value));
}

SWARM_TARGET inline Ints and_ints(Ints a, Ints b) {
    return _mm256_and_si256(a, b);
}

SWARM_TARGET inline Ints or_ints(Ints a, Ints b) {
    return _mm256_or_si256(a, b);
}

SWARM_TARGET inline Ints sub_bytes(Ints a, Ints b) {
    return _mm256_sub_epi8(a, b);
}

template <int kBits>
SWARM_TARGET inline Ints left(Ints a) {
    return _mm256_slli_epi32(a, kBits);
}

template <int kBits>
SWARM_TARGET inline Ints right(Ints a) {
    return _mm256_srli_epi32(a, kBits);
}

SWARM_TARGET inline Vec to_floats(Ints a) {
    return _mm256_cvtepi32_ps(a);
}

template <int kByte>
SWARM_TARGET inline Ints byte_on_top(Ints a) {
    if constexpr (kByte == 3) {
        return and_ints(a, spread_int(0xff000000U));
    } else {
        // Bytes with the highest bit set become 0.
        constexpr int kZero = 0x80;
        constexpr int kFirst = kByte << 24 | kZero << 16 | kZero << 8 | kZero;
        constexpr int kStep = 4 << 24;
        return _mm256_shuffle_epi8(
            a,
            _mm256_broadcastsi128_si256(
                _mm_setr_epi32(kFirst, kFirst + kStep, kFirst + 2 * kStep, kFirst + 3 * kStep)
            )
        );
    }
}

SWARM_TARGET inline Ints levels_of(Ints codes) {
    const auto* const table = reinterpret_cast<const __m128i*>(blocks::kIq4Levels.data());
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128(table)), codes);
}

/// 8 of 16 registers hold sums of 8 rows.
constexpr std::size_t kUnitRows = 8;

constexpr std::size_t unit_vectors(std::size_t rows) {
    return rows == 1 ? 4 : rows <= 3 ? 2 : 1;
}

constexpr bool kLooksUp16 = false;  // a table of floats has eight

SWARM_TARGET inline Ints widen_bytes(const std::byte* at) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at)));
}

SWARM_TARGET inline Vec load_half(const std::byte* at) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
}

SWARM_TARGET inline Vec load_e4m3(const std::byte* at) {
    const __m128i bytes = _mm_cvtepi8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at)));
    // The sign is in bits 7 to 15; after the shift bit 14 has it, too, and must not.
    const __m128i half = _mm_and_si128(_mm_slli_epi16(bytes, 7), _mm_set1_epi16(kNotBit14));
    return _mm256_cvtph_ps(half);
}

SWARM_TARGET inline Vec exponent_of(Vec shifted) {
    const auto bias = static_cast<int>(kExponentBias - std::bit_cast<std::uint32_t>(kRoundMagic));
    const __m256i power = _mm256_add_epi32(_mm256_castps_si256(shifted), _mm256_set1_epi32(bias));
    return _mm256_castsi256_ps(_mm256_slli_epi32(power, kMantissaBits));
}

}  // namespace
}  // namespace stacking::kernels

#include "stacking/kernels/vector_attention.hpp"
#include "stacking/kernels/vector_blocks.hpp"
#include "stacking/kernels/vector_f8.hpp"
#include "stacking/kernels/vector_kernels.hpp"

const stacking::kernels::Kernels& stacking::kernels::avx2_kernels() {
    static constexpr Kernels kKernels = kernels_on(Path::Avx2);
    return kKernels;
}
