// The kernels for AVX-512 (F, BW), 16 values at a time.
#include "stacking/blocks/coding.hpp"
#include "stacking/kernels/exponential.hpp"

#include <bit>
#include <cstddef>
#include <immintrin.h>

// A function without this attribute cannot inline the intrinsics; the compiler reports an error.
#define SWARM_TARGET __attribute__((target("avx512f,avx512bw,avx2,fma")))

namespace stacking::kernels {
namespace {

// The intrinsics for 16 bits take a short.
// NOLINTNEXTLINE(google-runtime-int): _mm256_set1_epi16 takes a short
constexpr short kNotBit14 = static_cast<short>(0xbfff);

using Vec = __m512;
constexpr std::size_t kWidth = 16;

/// 24 of 32 registers hold sums, 4 hold weights, and 1 holds a value of x.
constexpr std::size_t kTileRows = 6;

constexpr std::size_t tile_vectors(std::size_t /*rows*/) {
    return 4;
}

SWARM_TARGET inline Vec zero() {
    return _mm512_setzero_ps();
}

SWARM_TARGET inline Vec load(const float* at) {
    return _mm512_loadu_ps(at);
}

SWARM_TARGET inline void store(float* at, Vec values) {
    _mm512_storeu_ps(at, values);
}

SWARM_TARGET inline Vec spread(float value) {
    return _mm512_set1_ps(value);
}

SWARM_TARGET inline Vec fma(Vec a, Vec b, Vec c) {
    return _mm512_fmadd_ps(a, b, c);
}

SWARM_TARGET inline Vec add(Vec a, Vec b) {
    return _mm512_add_ps(a, b);
}

SWARM_TARGET inline Vec sub(Vec a, Vec b) {
    return _mm512_sub_ps(a, b);
}

SWARM_TARGET inline Vec mul(Vec a, Vec b) {
    return _mm512_mul_ps(a, b);
}

SWARM_TARGET inline Vec div(Vec a, Vec b) {
    return _mm512_div_ps(a, b);
}

SWARM_TARGET inline Vec max(Vec a, Vec b) {
    return _mm512_max_ps(a, b);
}

SWARM_TARGET inline Vec min(Vec a, Vec b) {
    return _mm512_min_ps(a, b);
}

SWARM_TARGET inline Vec load_bf16(const std::byte* at) {
    const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}

SWARM_TARGET inline Vec load_int8(const std::byte* at) {
    const __m128i levels = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(levels));
}

using Ints = __m512i;

SWARM_TARGET inline Ints load_ints(const std::byte* at) {
    return _mm512_loadu_si512(at);
}

SWARM_TARGET inline Ints spread_int(std::uint32_t value) {
    return _mm512_set1_epi32(static_cast<int>(value));
}

SWARM_TARGET inline Ints and_ints(Ints a, Ints b) {
    return _mm512_and_si512(a, b);
}

SWARM_TARGET inline Ints or_ints(Ints a, Ints b) {
    return _mm512_or_si512(a, b);
}

SWARM_TARGET inline Ints sub_bytes(Ints a, Ints b) {
    return _mm512_sub_epi8(a, b);
}

template <int kBits>
SWARM_TARGET inline Ints left(Ints a) {
    return _mm512_slli_epi32(a, kBits);
}

template <int kBits>
SWARM_TARGET inline Ints right(Ints a) {
    return _mm512_srli_epi32(a, kBits);
}

SWARM_TARGET inline Vec to_floats(Ints a) {
    return _mm512_cvtepi32_ps(a);
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
        return _mm512_shuffle_epi8(
            a,
            _mm512_broadcast_i32x4(
                _mm_setr_epi32(kFirst, kFirst + kStep, kFirst + 2 * kStep, kFirst + 3 * kStep)
            )
        );
    }
}

SWARM_TARGET inline Ints levels_of(Ints codes) {
    const auto* const table = reinterpret_cast<const __m128i*>(blocks::kIq4Levels.data());
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128(table)), codes);
}

/// 16 of 32 registers hold sums of 8 rows; 2 to 4 each hold scales, minimums, codes and weights.
constexpr std::size_t kUnitRows = 8;

constexpr std::size_t unit_vectors(std::size_t rows) {
    return rows <= 2 ? 4 : 2;
}

constexpr bool kLooksUp16 = true;

SWARM_TARGET inline Vec look_up(Vec table, Ints codes) {
    return _mm512_permutexvar_ps(codes, table);
}

SWARM_TARGET inline Ints widen_bytes(const std::byte* at) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
}

SWARM_TARGET inline Vec load_half(const std::byte* at) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
}

SWARM_TARGET inline Vec load_e4m3(const std::byte* at) {
    const __m256i bytes =
        _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
    // The sign is in bits 7 to 15; after the shift bit 14 has it, too, and must not.
    const __m256i half =
        _mm256_and_si256(_mm256_slli_epi16(bytes, 7), _mm256_set1_epi16(kNotBit14));
    return _mm512_cvtph_ps(half);
}

SWARM_TARGET inline Vec exponent_of(Vec shifted) {
    const auto bias = static_cast<int>(kExponentBias - std::bit_cast<std::uint32_t>(kRoundMagic));
    const __m512i power = _mm512_add_epi32(_mm512_castps_si512(shifted), _mm512_set1_epi32(bias));
    return _mm512_castsi512_ps(_mm512_slli_epi32(power, kMantissaBits));
}

}  // namespace
}  // namespace stacking::kernels

#include "stacking/kernels/vector_attention.hpp"
#include "stacking/kernels/vector_blocks.hpp"
#include "stacking/kernels/vector_f8.hpp"
#include "stacking/kernels/vector_kernels.hpp"

const stacking::kernels::Kernels& stacking::kernels::avx512_kernels() {
    static constexpr Kernels kKernels = kernels_on(Path::Avx512);
    return kKernels;
}
