// Transposes small matrices of values of 1, 2 or 4 bytes, in registers of 16 bytes, which every
// x86-64 processor has. packing.cpp alone includes it, at -O3.
// Threading: pure functions. Errors: none; the caller checks sizes.
#pragma once

#include <cstddef>
#include <cstring>
#include <emmintrin.h>

namespace stacking::kernels {

inline __m128i load_16(const std::byte* at) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}

inline void store_16(std::byte* at, __m128i value) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(at), value);
}

inline __m128i load_8(const std::byte* at) {
    return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(at));
}

/// A rectangle of values in memory, or a place for one.
template <class Byte>
struct Rectangle {
    Byte* at = nullptr;
    std::size_t stride = 0;  // bytes from one row to the next

    [[nodiscard]] Byte* row(std::size_t index) const { return at + index * stride; }
};

using From = Rectangle<const std::byte>;
using To = Rectangle<std::byte>;

/// Writes 4 rows of 4 values as columns.
inline void transpose_words(const From& from, const To& to) {
    const __m128i a = _mm_unpacklo_epi32(load_16(from.row(0)), load_16(from.row(1)));
    const __m128i b = _mm_unpackhi_epi32(load_16(from.row(0)), load_16(from.row(1)));
    const __m128i c = _mm_unpacklo_epi32(load_16(from.row(2)), load_16(from.row(3)));
    const __m128i d = _mm_unpackhi_epi32(load_16(from.row(2)), load_16(from.row(3)));
    store_16(to.row(0), _mm_unpacklo_epi64(a, c));
    store_16(to.row(1), _mm_unpackhi_epi64(a, c));
    store_16(to.row(2), _mm_unpacklo_epi64(b, d));
    store_16(to.row(3), _mm_unpackhi_epi64(b, d));
}

/// Writes 8 rows of 8 values as columns.
inline void transpose_halves(const From& from, const To& to) {
    __m128i pairs[8];
    for (std::size_t i = 0; i < 4; ++i) {
        const __m128i upper = load_16(from.row(2 * i));
        const __m128i lower = load_16(from.row(2 * i + 1));
        pairs[i] = _mm_unpacklo_epi16(upper, lower);
        pairs[4 + i] = _mm_unpackhi_epi16(upper, lower);
    }
    for (std::size_t half = 0; half < 2; ++half) {
        const __m128i* const p = pairs + 4 * half;
        const __m128i a = _mm_unpacklo_epi32(p[0], p[1]);
        const __m128i b = _mm_unpackhi_epi32(p[0], p[1]);
        const __m128i c = _mm_unpacklo_epi32(p[2], p[3]);
        const __m128i d = _mm_unpackhi_epi32(p[2], p[3]);
        store_16(to.row(4 * half), _mm_unpacklo_epi64(a, c));
        store_16(to.row(4 * half + 1), _mm_unpackhi_epi64(a, c));
        store_16(to.row(4 * half + 2), _mm_unpacklo_epi64(b, d));
        store_16(to.row(4 * half + 3), _mm_unpackhi_epi64(b, d));
    }
}

/// Writes 16 rows of 8 values as columns.
inline void transpose_bytes(const From& from, const To& to) {
    __m128i rows[8];
    for (std::size_t i = 0; i < 8; ++i) {  // rows i and i + 8, byte by byte
        rows[i] = _mm_unpacklo_epi8(load_8(from.row(i)), load_8(from.row(i + 8)));
    }
    __m128i quads[8];
    for (std::size_t i = 0; i < 4; ++i) {  // rows i, i + 4, i + 8, i + 12
        quads[i] = _mm_unpacklo_epi8(rows[i], rows[i + 4]);
        quads[4 + i] = _mm_unpackhi_epi8(rows[i], rows[i + 4]);
    }
    for (std::size_t half = 0; half < 2; ++half) {
        const __m128i* const q = quads + 4 * half;
        const __m128i a = _mm_unpacklo_epi8(q[0], q[2]);
        const __m128i b = _mm_unpackhi_epi8(q[0], q[2]);
        const __m128i c = _mm_unpacklo_epi8(q[1], q[3]);
        const __m128i d = _mm_unpackhi_epi8(q[1], q[3]);
        store_16(to.row(4 * half), _mm_unpacklo_epi8(a, c));
        store_16(to.row(4 * half + 1), _mm_unpackhi_epi8(a, c));
        store_16(to.row(4 * half + 2), _mm_unpacklo_epi8(b, d));
        store_16(to.row(4 * half + 3), _mm_unpackhi_epi8(b, d));
    }
}

/// Writes rows of values of kBytes bytes as columns.
template <std::size_t kBytes>
inline void transpose(const From& from, std::size_t rows, std::size_t values, const To& to) {
    constexpr std::size_t kRows = kBytes == 4 ? 4 : kBytes == 2 ? 8 : 16;
    constexpr std::size_t kValues = kBytes == 4 ? 4 : 8;
    const std::size_t whole_rows = rows / kRows * kRows;
    const std::size_t whole_values = values / kValues * kValues;
    for (std::size_t row = 0; row < whole_rows; row += kRows) {
        for (std::size_t value = 0; value < whole_values; value += kValues) {
            const From part{from.row(row) + value * kBytes, from.stride};
            const To place{to.row(value) + row * kBytes, to.stride};
            if constexpr (kBytes == 4) {
                transpose_words(part, place);
            } else if constexpr (kBytes == 2) {
                transpose_halves(part, place);
            } else {
                transpose_bytes(part, place);
            }
        }
    }
    for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t value = row < whole_rows ? whole_values : 0; value < values; ++value) {
            std::memcpy(to.row(value) + row * kBytes, from.row(row) + value * kBytes, kBytes);
        }
    }
}

}  // namespace stacking::kernels
