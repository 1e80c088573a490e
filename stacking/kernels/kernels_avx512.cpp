// The kernels for AVX-512 (F, BW), 16 values at a time.
#include "stacking/kernels/exponential.hpp"

#include <bit>
#include <cstddef>
#include <immintrin.h>

// A function without this attribute cannot inline the intrinsics; the compiler reports an error.
#define SWARM_TARGET __attribute__((target("avx512f,avx512bw,avx2,fma")))

namespace stacking::kernels {
namespace {

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

SWARM_TARGET inline Vec exponent_of(Vec shifted) {
    const auto bias = static_cast<int>(kExponentBias - std::bit_cast<std::uint32_t>(kRoundMagic));
    const __m512i power = _mm512_add_epi32(_mm512_castps_si512(shifted), _mm512_set1_epi32(bias));
    return _mm512_castsi512_ps(_mm512_slli_epi32(power, kMantissaBits));
}

}  // namespace
}  // namespace stacking::kernels

#include "stacking/kernels/vector_kernels.hpp"

const stacking::kernels::Kernels& stacking::kernels::avx512_kernels() {
    static constexpr Kernels kKernels = kernels_on(Path::Avx512);
    return kKernels;
}
