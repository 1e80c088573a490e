// Products by quantised blocks on vectors, written once for all types (block_layout.hpp).
// kernels_avx2.cpp and kernels_avx512.cpp include this file after vector_kernels.hpp. They declare
// besides:
//   Ints   kWidth 32-bit lanes; load_ints, spread_int, and_ints, or_ints, sub_bytes, left, right,
//          to_floats; byte_on_top (moves byte kByte of each lane to its top, zeros below),
//          levels_of (looks up bytes below 16 in kIq4Levels), widen_bytes, load_half
//   kUnitRows, unit_vectors(rows)   sums of rows that fit into the registers beside the scales
//   kLooksUp16, look_up   takes values of a table of 16 by the lowest four bits of each lane
// A level is the top byte of a lane, which is level x 2^24 as a signed number, or that value from a
// table. Scales are 2^-24 times theirs in turn; both are powers of two, so nothing is rounded.
// Invariant: a weight has the bits of decode_weights(), and a row's sums are those of the fp32
// loop. Threading, errors, cost: those of kernels.hpp.
#pragma once

#include "stacking/kernels/block_layout.hpp"
#include "stacking/kernels/vector_kernels.hpp"

#include <array>
#include <cstdint>
#include <utility>

#define SWARM_INLINE SWARM_TARGET __attribute__((always_inline)) inline

namespace stacking::kernels {
namespace {

using blocks::Factors;
using blocks::Minimum;
using blocks::WeightType;

/// Rows that share one decoding of a unit: their sums take 12 KiB.
constexpr std::size_t kUnitRowsAtOnce = 48;
/// Units from the one that is read to the one that is fetched from memory.
constexpr std::size_t kUnitsAhead = 3;

constexpr float kTopByte = 0x1p-24F;

template <WeightType kType>
inline constexpr blocks::Coding kCoding = blocks::coding_of(kType);
template <WeightType kType>
inline constexpr BlockLayout kLayout = layout_of(kCoding<kType>);

/// Takes the field of kBits bits at `kFrom` of each byte to bit kTo.
template <std::size_t kBits, int kFrom, int kTo>
SWARM_INLINE Ints field(Ints word) {
    constexpr std::uint32_t kMask = 0x01010101U * ((1U << kBits) - 1) << kTo;
    if constexpr (kFrom > kTo) {
        word = right<kFrom - kTo>(word);
    } else if constexpr (kFrom < kTo) {
        word = left<kTo - kFrom>(word);
    }
    return and_ints(word, spread_int(kMask));
}

/// Codes of quad kQuad. `row`: the word of the first output of the first row.
template <std::size_t kBits, std::size_t kQuad>
SWARM_INLINE Ints load_codes(const std::byte* row) {
    if constexpr (kBits == 8) {
        return load_ints(row + kQuad * kRowBytes);
    } else if constexpr (kBits == 4) {
        return field<4, 4 * (kQuad % 2), 0>(load_ints(row + kQuad / 2 * kRowBytes));
    } else if constexpr (kBits == 2) {
        return field<2, 2 * (kQuad % 4), 0>(load_ints(row + kQuad / 4 * kRowBytes));
    } else if constexpr (kBits == 6) {
        const Ints upper = load_ints(row + (4 + kQuad / 4) * kRowBytes);
        return or_ints(load_codes<4, kQuad>(row), field<2, 2 * (kQuad % 4), 4>(upper));
    } else {
        constexpr std::size_t kLower = kBits - 1;
        const Ints upper = load_ints(row + kLower * kRowBytes);
        return or_ints(
            load_codes<kLower, kQuad>(row), field<1, kQuad, static_cast<int>(kLower)>(upper)
        );
    }
}

/// Whether levels come from a table, by the bits of a code where they lie in the word.
template <WeightType kType>
inline constexpr bool kFromTable = kCoding<kType>.bits == 4 && kLooksUp16;

/// Levels of the codes of four bits, times 2^24.
template <WeightType kType>
inline constexpr std::array<float, 16> kLevelTable = [] {
    std::array<float, 16> table{};
    for (std::uint8_t code = 0; code < table.size(); ++code) {
        table[code] = static_cast<float>(blocks::level_of(kCoding<kType>, code)) / kTopByte;
    }
    return table;
}();

/// Levels of quad kQuad, a signed byte each; from a table: the word that has the codes.
template <WeightType kType, std::size_t kQuad>
SWARM_INLINE Ints load_levels(const std::byte* row) {
    constexpr blocks::Coding kCode = kCoding<kType>;
    if constexpr (kFromTable<kType>) {
        return load_ints(row + kQuad / 2 * kRowBytes);
    }
    const Ints codes = load_codes<kCode.bits, kQuad>(row);
    if constexpr (kCode.table) {
        return levels_of(codes);
    } else if constexpr (kCode.offset != 0) {
        return sub_bytes(codes, spread_int(0x01010101U * static_cast<unsigned>(kCode.offset)));
    } else {
        return codes;
    }
}

/// Scales and minimums of a group for some outputs.
template <std::size_t kVectors>
struct UnitScales {
    Vec scales[kVectors];
    Vec minimums[kVectors];
};

/// `halves`: scale of the first output in the block; `factors`: those of the group.
template <WeightType kType, std::size_t kVectors>
SWARM_INLINE void load_scales(
    const std::byte* halves, const std::byte* factors, UnitScales<kVectors>& to
) {
    constexpr blocks::Coding kCode = kCoding<kType>;
    const Vec small = spread(kTopByte);
    for (std::size_t v = 0; v < kVectors; ++v) {
        const std::byte* const at = halves + v * kWidth * sizeof(std::uint16_t);
        const std::byte* const factor = factors + v * kWidth;
        Vec scale = mul(load_half(at), small);
        if constexpr (kCode.factors == Factors::Paired) {
            const Ints pair = widen_bytes(factor);
            scale = mul(scale, to_floats(and_ints(pair, spread_int(0x0f))));
            const Vec minimum = mul(load_half(at + kHalvesBytes), to_floats(right<4>(pair)));
            to.minimums[v] = sub(spread(-0.0F), minimum);
        } else if constexpr (kCode.factors != Factors::None) {
            scale = mul(scale, load_int8(factor));
            if constexpr (kCode.minimum == Minimum::Scaled) {
                const Vec minimum =
                    mul(load_half(at + kHalvesBytes), load_int8(factor + kPanelOutputs));
                to.minimums[v] = sub(spread(-0.0F), minimum);
            }
        } else if constexpr (kCode.minimum == Minimum::Added) {
            to.minimums[v] = load_half(at + kHalvesBytes);
        }
        to.scales[v] = scale;
    }
}

/// Levels of byte kByte of quad kQuad, times 2^24.
template <WeightType kType, std::size_t kQuad, int kByte>
SWARM_INLINE Vec top_level(Ints levels) {
    if constexpr (kFromTable<kType>) {
        constexpr int kFrom = 8 * kByte + 4 * static_cast<int>(kQuad % 2);
        return look_up(load(kLevelTable<kType>.data()), right<kFrom>(levels));
    } else {
        return to_floats(byte_on_top<kByte>(levels));
    }
}

/// Weights of byte kByte of quad kQuad.
template <WeightType kType, std::size_t kQuad, int kByte, std::size_t kVectors>
SWARM_INLINE Vec weight_of(Ints levels, const UnitScales<kVectors>& by, std::size_t v) {
    const Vec level = top_level<kType, kQuad, kByte>(levels);
    if constexpr (kCoding<kType>.minimum == Minimum::None) {
        return mul(level, by.scales[v]);
    } else {
        return fma(level, by.scales[v], by.minimums[v]);
    }
}

/// Adds the products of kRows rows.
template <std::size_t kRows>
struct AddProducts {
    static constexpr std::size_t kVectors = unit_vectors(kRows);

    const float* x;
    std::size_t stride;
    Vec sums[kRows][kVectors];

    template <WeightType kType, std::size_t kQuad, int kByte>
    SWARM_INLINE void take(const Ints* levels, const UnitScales<kVectors>& by) {
        Vec weights[kVectors];
        for (std::size_t v = 0; v < kVectors; ++v) {
            weights[v] = weight_of<kType, kQuad, kByte>(levels[v], by, v);
        }
        for (std::size_t r = 0; r < kRows; ++r) {
            const Vec value = spread(x[r * stride + kQuad * kQuadInputs + kByte]);
            for (std::size_t v = 0; v < kVectors; ++v) {
                sums[r][v] = fma(value, weights[v], sums[r][v]);
            }
        }
    }
};

/// Stores weights as a block of the fp32 layout.
struct StoreWeights {
    static constexpr std::size_t kVectors = unit_vectors(1);

    float* to;

    template <WeightType kType, std::size_t kQuad, int kByte>
    SWARM_INLINE void take(const Ints* levels, const UnitScales<kVectors>& by) {
        float* const row = to + (kQuad * kQuadInputs + kByte) * kPanelOutputs;
        for (std::size_t v = 0; v < kVectors; ++v) {
            store(row + v * kWidth, weight_of<kType, kQuad, kByte>(levels[v], by, v));
        }
    }
};

template <WeightType kType, std::size_t kQuad, class Taker>
SWARM_INLINE void take_quad(
    const std::byte* row, const UnitScales<Taker::kVectors>& by, Taker& taker
) {
    Ints levels[Taker::kVectors];
    for (std::size_t v = 0; v < Taker::kVectors; ++v) {
        levels[v] = load_levels<kType, kQuad>(row + v * kWidth * sizeof(std::uint32_t));
    }
    taker.template take<kType, kQuad, 0>(levels, by);
    taker.template take<kType, kQuad, 1>(levels, by);
    taker.template take<kType, kQuad, 2>(levels, by);
    taker.template take<kType, kQuad, 3>(levels, by);
}

/// Takes the inputs of a unit for the taker's outputs from `first` on, in ascending order.
template <WeightType kType, class Taker>
SWARM_INLINE void take_unit(
    const std::byte* block, const std::byte* unit, std::size_t first, Taker& taker
) {
    constexpr BlockLayout kPlaces = kLayout<kType>;
    const std::byte* const halves = block + first * sizeof(std::uint16_t);
    const std::byte* const row = unit + kPlaces.factor_bytes() + first * sizeof(std::uint32_t);
    UnitScales<Taker::kVectors> by;
    load_scales<kType>(halves, unit + first, by);
    take_quad<kType, 0>(row, by, taker);
    take_quad<kType, 1>(row, by, taker);
    take_quad<kType, 2>(row, by, taker);
    take_quad<kType, 3>(row, by, taker);
    if constexpr (kPlaces.unit_groups == 2) {
        load_scales<kType>(halves, unit + kPlaces.group_bytes + first, by);
    }
    take_quad<kType, 4>(row, by, taker);
    take_quad<kType, 5>(row, by, taker);
    take_quad<kType, 6>(row, by, taker);
    take_quad<kType, 7>(row, by, taker);
}

/// Adds the products of a unit to the sums of kRows rows, (kRows, kPanelOutputs).
template <WeightType kType, std::size_t kRows>
SWARM_TARGET void add_unit(
    const std::byte* block, const std::byte* unit, const BlockInputs& in, float* sums
) {
    using Taker = AddProducts<kRows>;
    for (std::size_t first = 0; first < kPanelOutputs; first += Taker::kVectors * kWidth) {
        Taker taker;
        taker.x = in.x;
        taker.stride = in.stride;
        for (std::size_t r = 0; r < kRows; ++r) {
            for (std::size_t v = 0; v < Taker::kVectors; ++v) {
                taker.sums[r][v] = load(sums + r * kPanelOutputs + first + v * kWidth);
            }
        }
        take_unit<kType>(block, unit, first, taker);
        for (std::size_t r = 0; r < kRows; ++r) {
            for (std::size_t v = 0; v < Taker::kVectors; ++v) {
                store(sums + r * kPanelOutputs + first + v * kWidth, taker.sums[r][v]);
            }
        }
    }
}

using AddUnit = void (*)(const std::byte*, const std::byte*, const BlockInputs&, float*);

template <WeightType kType, std::size_t... kFewer>
constexpr std::array<AddUnit, kUnitRows> add_units(std::index_sequence<kFewer...> /*rows*/) {
    return {add_unit<kType, kFewer + 1>...};
}

template <WeightType kType>
inline constexpr auto kAddUnit = add_units<kType>(std::make_index_sequence<kUnitRows>());

template <WeightType kType>
SWARM_TARGET void decode_unit(const std::byte* block, const std::byte* unit, float* weights) {
    for (std::size_t first = 0; first < kPanelOutputs; first += StoreWeights::kVectors * kWidth) {
        StoreWeights taker{weights + first};
        take_unit<kType>(block, unit, first, taker);
    }
}

/// Asks for a unit that is wanted soon.
template <WeightType kType>
SWARM_INLINE void fetch(const std::byte* unit) {
    // A block of one unit has its scales between the codes of two units.
    constexpr BlockLayout kPlaces = kLayout<kType>;
    constexpr bool kAlone = kPlaces.inputs == kUnitInputs;
    constexpr std::size_t kBytes = kAlone ? kPlaces.block_bytes : kPlaces.unit_bytes;
    for (std::size_t line = 0; line < kBytes; line += kCacheLineBytes) {
        __builtin_prefetch(unit + kUnitsAhead * kBytes + line);
    }
}

/// Computes the sums of some rows and one panel, (rows, kPanelOutputs). A unit is decoded once for
/// all rows; a few rows need no copy of it.
template <WeightType kType>
SWARM_TARGET void multiply_block_panel(
    const MatrixView& matrix, std::size_t panel_index, const Rows& x, float* sums
) {
    constexpr BlockLayout kPlaces = kLayout<kType>;
    const std::byte* panel = matrix.panels + panel_index * matrix.panel_bytes;
    alignas(kCacheLineBytes) float weights[kUnitInputs * kPanelOutputs];
    const auto* const decoded = reinterpret_cast<const std::byte*>(weights);
    std::fill_n(sums, x.count * kPanelOutputs, 0.0F);
    for (std::size_t k = 0; k < matrix.inputs; panel += kPlaces.block_bytes) {
        const std::byte* unit = panel + kPlaces.header_bytes;
        for (const std::size_t end = k + kPlaces.inputs; k < end; k += kUnitInputs) {
            fetch<kType>(unit);
            if (x.count <= kUnitRows) {
                const BlockInputs in{x.values + k, x.stride, kUnitInputs};
                kAddUnit<kType>[x.count - 1](panel, unit, in, sums);
            } else {
                decode_unit<kType>(panel, unit, weights);
                for (std::size_t row = 0; row < x.count; row += kTileRows) {
                    const BlockInputs in{x.values + row * x.stride + k, x.stride, kUnitInputs};
                    const std::size_t rows = std::min(kTileRows, x.count - row);
                    kAddBlock<WeightFormat::Fp32>[rows - 1](
                        decoded, in, decoded, sums + row * kPanelOutputs
                    );
                }
            }
            unit += kPlaces.unit_bytes;
        }
    }
}

template <WeightType kType>
SWARM_TARGET void multiply_type(
    const MatrixView& matrix, const Rows& x, float* out, std::size_t out_stride
) {
    multiply_panels<multiply_block_panel<kType>, kUnitRowsAtOnce>(matrix, x, out, out_stride);
}

SWARM_TARGET void multiply_blocks(
    const MatrixView& matrix, const Rows& x, float* out, std::size_t out_stride
) {
    switch (matrix.type) {
        case WeightType::Q4_0:
            return multiply_type<WeightType::Q4_0>(matrix, x, out, out_stride);
        case WeightType::Q4_1:
            return multiply_type<WeightType::Q4_1>(matrix, x, out, out_stride);
        case WeightType::Q5_0:
            return multiply_type<WeightType::Q5_0>(matrix, x, out, out_stride);
        case WeightType::Q5_1:
            return multiply_type<WeightType::Q5_1>(matrix, x, out, out_stride);
        case WeightType::Q8_0:
            return multiply_type<WeightType::Q8_0>(matrix, x, out, out_stride);
        case WeightType::Q2_K:
            return multiply_type<WeightType::Q2_K>(matrix, x, out, out_stride);
        case WeightType::Q3_K:
            return multiply_type<WeightType::Q3_K>(matrix, x, out, out_stride);
        case WeightType::Q4_K:
            return multiply_type<WeightType::Q4_K>(matrix, x, out, out_stride);
        case WeightType::Q5_K:
            return multiply_type<WeightType::Q5_K>(matrix, x, out, out_stride);
        case WeightType::Q6_K:
            return multiply_type<WeightType::Q6_K>(matrix, x, out, out_stride);
        case WeightType::IQ4_NL:
            return multiply_type<WeightType::IQ4_NL>(matrix, x, out, out_stride);
        case WeightType::IQ4_XS:
            return multiply_type<WeightType::IQ4_XS>(matrix, x, out, out_stride);
        case WeightType::F32:
        case WeightType::F16:
        case WeightType::BF16:
        case WeightType::F8_E4M3:
            break;  // PackedMatrix has none of them as blocks
    }
}

}  // namespace
}  // namespace stacking::kernels
