#include "stacking/kernels/packing.hpp"

#include "stacking/blocks/coding.hpp"
#include "stacking/kernels/block_layout.hpp"
#include "stacking/kernels/packed_layout.hpp"
#include "stacking/kernels/transpose.hpp"
#include "swarm/base/check.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <emmintrin.h>
#include <iterator>
#include <limits>

namespace stacking::kernels {

using blocks::Block;
using blocks::Coding;
using blocks::Factors;
using blocks::Minimum;
using blocks::WeightType;

namespace {

constexpr std::size_t kLineBytes = 64;
/// Bytes of each row that are brought into the second cache together. The processor foresees only
/// some of 64 rows that are read in turns.
constexpr std::size_t kFetchedBytes = 4096;
constexpr std::int32_t kSizeBits = 0x7fffffff;  // all of fp32 but the sign
constexpr std::int32_t kInfinity = 0x7f800000;
constexpr float kLevels = 127;
constexpr float kRoundMagic = 0x1.8p+23F;  // adding and subtracting it rounds to an integer

/// Asks for the bytes of all rows from byte `from` on when a new part of them begins there.
class Fetcher {
 public:
    explicit Fetcher(const PanelRows& rows) : rows_(rows) {}

    void reach(std::size_t byte) {
        if (byte < fetched_) {
            return;
        }
        const std::size_t end = std::min(rows_.row_bytes, fetched_ + kFetchedBytes);
        for (std::size_t row = 0; row < rows_.count; ++row) {
            const std::byte* const at = rows_.from + row * rows_.row_bytes;
            for (std::size_t line = fetched_; line < end; line += kLineBytes) {
                constexpr int kRead = 0;
                constexpr int kIntoSecondCache = 2;
                __builtin_prefetch(at + line, kRead, kIntoSecondCache);
            }
        }
        fetched_ = end;
    }

 private:
    const PanelRows& rows_;
    std::size_t fetched_ = 0;
};

/// Whether no value has all bits of kExponent, which infinities and NaN have.
template <class Word, Word kExponent>
bool has_numbers(const std::byte* bytes, std::size_t count) {
    constexpr auto kLowest = static_cast<Word>(kExponent & (~std::uint64_t{kExponent} + 1));
    Word carried = 0;
    for (std::size_t i = 0; i < count; ++i) {
        Word word = 0;
        std::memcpy(&word, bytes + i * sizeof word, sizeof word);
        // The sum reaches the sign's bit from the largest exponent alone.
        carried = static_cast<Word>(carried | ((word & kExponent) + kLowest));
    }
    return (carried >> (8 * sizeof(Word) - 1)) == 0;
}

/// `kExponent`: see has_numbers().
template <class Word, Word kExponent>
bool pack_words(const PanelRows& rows) {
    constexpr std::size_t kBytes = sizeof(Word);
    constexpr std::size_t kAtOnce = kLineBytes / kBytes;
    Fetcher fetcher(rows);
    bool finite = true;
    for (std::size_t k = 0; k < rows.inputs; k += kAtOnce) {
        const std::size_t count = std::min(kAtOnce, rows.inputs - k);
        const std::byte* const from = rows.from + k * kBytes;
        fetcher.reach(k * kBytes);
        for (std::size_t row = 0; row < rows.count; ++row) {
            finite = finite & has_numbers<Word, kExponent>(from + row * rows.row_bytes, count);
        }
        std::byte* const to = rows.panel + (k * kPanelOutputs + rows.output) * kBytes;
        transpose<kBytes>({from, rows.row_bytes}, rows.count, count, {to, kPanelOutputs * kBytes});
    }
    return finite;
}

/// Copies `count` values of a row, and zeros behind them.
template <std::size_t kMost>
void read_values(const std::byte* from, std::size_t count, float (&values)[kMost]) {
    if (count == kMost) {
        std::memcpy(values, from, sizeof values);
        return;
    }
    std::fill(std::begin(values), std::end(values), 0.0F);
    std::memcpy(values, from, count * sizeof(float));
}

/// Rounds 4 values to the nearest bf16, ties to even, in the upper halves; NaN stays NaN.
__m128i to_bf16(__m128i bits) {
    const __m128i odd = _mm_and_si128(_mm_srli_epi32(bits, 16), _mm_set1_epi32(1));
    const __m128i half = _mm_add_epi32(odd, _mm_set1_epi32(0x7fff));
    const __m128i size = _mm_and_si128(bits, _mm_set1_epi32(kSizeBits));
    const __m128i is_nan = _mm_cmpgt_epi32(size, _mm_set1_epi32(kInfinity));
    const __m128i quiet = _mm_or_si128(bits, _mm_set1_epi32(0x00400000));
    const __m128i rounded = _mm_add_epi32(bits, half);
    return _mm_or_si128(_mm_and_si128(is_nan, quiet), _mm_andnot_si128(is_nan, rounded));
}

void pack_bf16(const PanelRows& rows) {
    constexpr std::size_t kAtOnce = kLineBytes / sizeof(float);
    constexpr std::size_t kBytes = sizeof(std::uint16_t);
    std::uint16_t halves[kPanelOutputs][kAtOnce];
    Fetcher fetcher(rows);
    for (std::size_t k = 0; k < rows.inputs; k += kAtOnce) {
        const std::size_t count = std::min(kAtOnce, rows.inputs - k);
        fetcher.reach(k * sizeof(float));
        for (std::size_t row = 0; row < rows.count; ++row) {
            float values[kAtOnce];
            const auto* const bytes = reinterpret_cast<const std::byte*>(values);
            read_values(rows.from + row * rows.row_bytes + k * sizeof(float), count, values);
            for (std::size_t i = 0; i < kAtOnce; i += 8) {
                // An arithmetic shift keeps what is packed within the bounds of 16 bits.
                const __m128i low = _mm_srai_epi32(to_bf16(load_16(bytes + i * sizeof(float))), 16);
                const __m128i high =
                    _mm_srai_epi32(to_bf16(load_16(bytes + (i + 4) * sizeof(float))), 16);
                _mm_storeu_si128(
                    reinterpret_cast<__m128i*>(halves[row] + i), _mm_packs_epi32(low, high)
                );
            }
        }
        transpose<kBytes>(
            {reinterpret_cast<const std::byte*>(halves), sizeof halves[0]},
            rows.count,
            count,
            {rows.panel + (k * kPanelOutputs + rows.output) * kBytes, kPanelOutputs * kBytes}
        );
    }
}

/// Writes the levels of a group, and returns its scale.
float find_levels(const float (&group)[kScaleGroup], std::int8_t* levels) {
    // Sizes are compared as integers, which have their order; those of infinities and NaN are
    // above all others.
    std::int32_t largest = 0;
    for (const float value : group) {
        const auto size = std::bit_cast<std::int32_t>(value) & kSizeBits;
        largest = largest > size ? largest : size;
    }
    const float scale = largest < kInfinity ? std::bit_cast<float>(largest) / kLevels
                                            : std::numeric_limits<float>::quiet_NaN();
    if (!(scale > 0)) {
        std::memset(levels, 0, kScaleGroup);
        return scale;
    }
    const auto four_levels = [&](std::size_t k) {
        const __m128 exact = _mm_div_ps(_mm_loadu_ps(group + k), _mm_set1_ps(scale));
        const __m128 within =
            _mm_min_ps(_mm_max_ps(exact, _mm_set1_ps(-kLevels)), _mm_set1_ps(kLevels));
        const __m128 magic = _mm_set1_ps(kRoundMagic);
        return _mm_cvttps_epi32(_mm_sub_ps(_mm_add_ps(within, magic), magic));
    };
    for (std::size_t k = 0; k < kScaleGroup; k += 16) {
        const __m128i low = _mm_packs_epi32(four_levels(k), four_levels(k + 4));
        const __m128i high = _mm_packs_epi32(four_levels(k + 8), four_levels(k + 12));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(levels + k), _mm_packs_epi16(low, high));
    }
    return scale;
}

void pack_levels(const PanelRows& rows) {
    std::int8_t levels[kPanelOutputs][kScaleGroup];
    Fetcher fetcher(rows);
    std::byte* group = rows.panel;
    for (std::size_t k = 0; k < rows.inputs; k += kScaleGroup, group += kInt8GroupBytes) {
        const std::size_t count = std::min(kScaleGroup, rows.inputs - k);
        fetcher.reach(k * sizeof(float));
        for (std::size_t row = 0; row < rows.count; ++row) {
            float values[kScaleGroup];
            read_values(rows.from + row * rows.row_bytes + k * sizeof(float), count, values);
            const float scale = find_levels(values, levels[row]);
            std::memcpy(group + (rows.output + row) * sizeof scale, &scale, sizeof scale);
        }
        transpose<1>(
            {reinterpret_cast<const std::byte*>(levels), sizeof levels[0]},
            rows.count,
            count,
            {group + kInt8ScaleBytes + rows.output, kPanelOutputs}
        );
    }
}

/// Writes the fields of kBits bits that begin at bit kFrom of the codes.
template <std::size_t kBits, std::size_t kFrom>
void put_fields(const Quads& quads, std::byte* to) {
    constexpr std::size_t kCount = quads_per_row(kBits);
    for (std::size_t first = 0; first < kUnitQuads; first += kCount, to += kRowBytes) {
        std::uint32_t word = 0;
        for (std::size_t i = 0; i < kCount; ++i) {
            word |= ((quads[first + i] >> kFrom) & low_bits(kBits)) << (kBits * i);
        }
        std::memcpy(to, &word, sizeof word);
    }
}

/// Puts one block of one output into a panel. `to`: the block in the panel.
template <WeightType kType>
void put_block(const Block& block, std::byte* to, std::size_t output) {
    constexpr Coding kCoding = blocks::coding_of(kType);
    constexpr BlockLayout kLayout = layout_of(kCoding);
    constexpr CodeParts kParts = parts_of(kCoding.bits);
    std::memcpy(to + output * sizeof block.scale, &block.scale, sizeof block.scale);
    if constexpr (kCoding.minimum != Minimum::None) {
        std::byte* const minimums = to + kHalvesBytes;
        std::memcpy(minimums + output * sizeof block.minimum, &block.minimum, sizeof block.minimum);
    }
    std::byte* at = to + kLayout.header_bytes;
    for (std::size_t unit = 0; unit < kCoding.values / kUnitInputs; ++unit) {
        if constexpr (kCoding.factors != Factors::None) {
            for (std::size_t i = 0; i < kLayout.unit_groups; ++i, at += kLayout.group_bytes) {
                const std::size_t group = unit * kLayout.unit_groups + i;
                const auto factor = static_cast<std::uint8_t>(block.factors[group]);
                const std::uint8_t minimum = block.minimums[group];
                constexpr bool kPaired = kCoding.factors == Factors::Paired;
                at[output] = static_cast<std::byte>(kPaired ? factor | (minimum << 4) : factor);
                if constexpr (kCoding.factors == Factors::Wide) {
                    at[kPanelOutputs + output] = static_cast<std::byte>(minimum);
                }
            }
        }
        Quads quads{};
        std::memcpy(quads.data(), block.codes.data() + unit * kUnitInputs, kUnitInputs);
        std::byte* const words = at + output * sizeof(std::uint32_t);
        put_fields<kParts.lower, 0>(quads, words);
        if constexpr (kParts.upper > 0) {
            put_fields<kParts.upper, kParts.lower>(
                quads, words + unit_rows(kParts.lower) * kRowBytes
            );
        }
        at += unit_rows(kCoding.bits) * kRowBytes;
    }
}

template <WeightType kType>
bool pack_blocks_of(const PanelRows& rows) {
    constexpr Coding kCoding = blocks::coding_of(kType);
    constexpr std::size_t kBlockBytes = layout_of(kCoding).block_bytes;
    const std::size_t stored_bytes = blocks::block_size(kType).bytes;
    const std::size_t count = rows.inputs / kCoding.values;
    Fetcher fetcher(rows);
    bool finite = true;
    Block block;
    for (std::size_t i = 0; i < count; ++i) {
        std::byte* const to = rows.panel + i * kBlockBytes;
        fetcher.reach((i + 1) * stored_bytes - 1);
        for (std::size_t row = 0; row < rows.count; ++row) {
            const std::byte* const from = rows.from + row * rows.row_bytes;
            take_apart(kType, from + i * stored_bytes, block);
            finite = finite && is_finite(block);
            put_block<kType>(block, to, rows.output + row);
        }
    }
    return finite;
}

}  // namespace

bool pack_plain(WeightType type, const PanelRows& rows) {
    switch (type) {
        case WeightType::F32:
            return pack_words<std::uint32_t, 0x7f800000U>(rows);
        case WeightType::F16:
            return pack_words<std::uint16_t, 0x7c00U>(rows);
        case WeightType::BF16:
            return pack_words<std::uint16_t, 0x7f80U>(rows);
        default:
            SWARM_ASSERT(false);
            return false;
    }
}

bool pack_f8(const PanelRows& rows, std::span<const float> scales) {
    constexpr std::uint8_t kMagnitude = 0x7f;  // NaN has it whole
    const std::size_t groups = f8_groups(rows.inputs);
    Fetcher fetcher(rows);
    bool finite = true;
    std::byte* to = rows.panel;
    for (std::size_t group = 0; group < groups; ++group, to += kF8GroupBytes) {
        const std::size_t k = group * kF8Group;
        const std::size_t count = std::min(kF8Group, rows.inputs - k);
        fetcher.reach(k);
        for (std::size_t row = 0; row < rows.count; ++row) {
            const float scale = scales[row * groups + group];
            const auto* const bytes =
                reinterpret_cast<const std::uint8_t*>(rows.from + row * rows.row_bytes + k);
            std::uint8_t largest = 0;
            for (std::size_t i = 0; i < count; ++i) {
                largest = std::max(largest, static_cast<std::uint8_t>(bytes[i] & kMagnitude));
            }
            finite = finite && std::isfinite(blocks::from_e4m3(largest) * scale);
            std::memcpy(to + (rows.output + row) * sizeof scale, &scale, sizeof scale);
        }
        transpose<1>(
            {rows.from + k, rows.row_bytes},
            rows.count,
            count,
            {to + kF8ScaleBytes + rows.output, kPanelOutputs}
        );
    }
    return finite;
}

bool pack_blocks(WeightType type, const PanelRows& rows) {
    switch (type) {
        case WeightType::Q4_0:
            return pack_blocks_of<WeightType::Q4_0>(rows);
        case WeightType::Q4_1:
            return pack_blocks_of<WeightType::Q4_1>(rows);
        case WeightType::Q5_0:
            return pack_blocks_of<WeightType::Q5_0>(rows);
        case WeightType::Q5_1:
            return pack_blocks_of<WeightType::Q5_1>(rows);
        case WeightType::Q8_0:
            return pack_blocks_of<WeightType::Q8_0>(rows);
        case WeightType::Q2_K:
            return pack_blocks_of<WeightType::Q2_K>(rows);
        case WeightType::Q3_K:
            return pack_blocks_of<WeightType::Q3_K>(rows);
        case WeightType::Q4_K:
            return pack_blocks_of<WeightType::Q4_K>(rows);
        case WeightType::Q5_K:
            return pack_blocks_of<WeightType::Q5_K>(rows);
        case WeightType::Q6_K:
            return pack_blocks_of<WeightType::Q6_K>(rows);
        case WeightType::IQ4_NL:
            return pack_blocks_of<WeightType::IQ4_NL>(rows);
        case WeightType::IQ4_XS:
            return pack_blocks_of<WeightType::IQ4_XS>(rows);
        case WeightType::F32:
        case WeightType::F16:
        case WeightType::BF16:
        case WeightType::F8_E4M3:
            break;
    }
    SWARM_ASSERT(false);
    return false;
}

void pack_values(WeightFormat format, const PanelRows& rows) {
    if (format == WeightFormat::Int8) {
        pack_levels(rows);
    } else if (format == WeightFormat::Bf16) {
        pack_bf16(rows);
    } else {
        SWARM_ASSERT(format == WeightFormat::Fp32);
        static_cast<void>(pack_words<std::uint32_t, 0x7f800000U>(rows));
    }
}

}  // namespace stacking::kernels
