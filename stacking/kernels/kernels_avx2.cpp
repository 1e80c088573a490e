// The kernels for AVX2 and FMA, 8 values at a time.
#include "stacking/kernels/exponential.hpp"

#include <bit>
#include <cstddef>
#include <immintrin.h>

// A function without this attribute cannot inline the intrinsics; the compiler reports an error.
#define SWARM_TARGET __attribute__((target("avx2,fma")))

namespace stacking::kernels {
namespace {

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

SWARM_TARGET inline Vec exponent_of(Vec shifted) {
    const auto bias = static_cast<int>(kExponentBias - std::bit_cast<std::uint32_t>(kRoundMagic));
    const __m256i power = _mm256_add_epi32(_mm256_castps_si256(shifted), _mm256_set1_epi32(bias));
    return _mm256_castsi256_ps(_mm256_slli_epi32(power, kMantissaBits));
}

}  // namespace
}  // namespace stacking::kernels

#include "stacking/kernels/vector_kernels.hpp"

const stacking::kernels::Kernels& stacking::kernels::avx2_kernels() {
    static constexpr Kernels kKernels = kernels_on(Path::Avx2);
    return kKernels;
}
