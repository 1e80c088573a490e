// The kernels of kernels.hpp on vectors, written once. kernels_avx2.cpp and kernels_avx512.cpp
// include this file at their end. Before, they declare in an unnamed namespace:
//   SWARM_TARGET   attribute of every function here: a file-wide -mavx2 would let the linker keep
//                  AVX2 copies of inline functions that all machines call
//   Vec, kWidth    a vector of kWidth floats; zero, load, store, spread, fma, add, sub, mul, div,
//                  max, min (returning the second operand if one is NaN), load_bf16, load_half,
//                  load_int8, exponent_of (the power of two whose exponent is in the low bits)
//   kTileRows, tile_vectors(rows)   the tile of sums that fits into the registers
// Invariant: each lane does the operations of the scalar path, in its order.
// Threading, errors, cost: those of kernels.hpp.
#pragma once

#include "stacking/kernels/formulas.hpp"
#include "stacking/kernels/kernels.hpp"
#include "stacking/kernels/packed_layout.hpp"
#include "stacking/kernels/vector_activations.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace stacking::kernels {
namespace {

static_assert(kPanelOutputs % kWidth == 0 && kLanes % kWidth == 0);

constexpr std::size_t kCacheLineBytes = 64;
/// Inputs of a block: with 64 outputs 8 KiB of fp32, a part of the first cache.
constexpr std::size_t kBlockInputs = kScaleGroup;
/// Blocks from the one that is read to the one that is fetched from memory.
constexpr std::size_t kBlocksAhead = 2;
/// Rows whose sums are under way together: 6 KiB.
constexpr std::size_t kRowsAtOnce = 24;

template <WeightFormat kFormat>
constexpr std::size_t kBlockBytes = panel_bytes(kFormat, kBlockInputs);

/// Sums for kRows rows and kVectors vectors of outputs of one panel.
template <std::size_t kRows, std::size_t kVectors>
struct Tile {
    Vec sums[kRows][kVectors];

    SWARM_TARGET void clear() {
        for (std::size_t r = 0; r < kRows; ++r) {
            for (std::size_t v = 0; v < kVectors; ++v) {
                sums[r][v] = zero();
            }
        }
    }

    /// `from`: the sum of the first row and output; rows are kPanelOutputs apart.
    SWARM_TARGET void read(const float* from) {
        for (std::size_t r = 0; r < kRows; ++r) {
            for (std::size_t v = 0; v < kVectors; ++v) {
                sums[r][v] = load(from + r * kPanelOutputs + v * kWidth);
            }
        }
    }

    SWARM_TARGET void write(float* to) const {
        for (std::size_t r = 0; r < kRows; ++r) {
            for (std::size_t v = 0; v < kVectors; ++v) {
                store(to + r * kPanelOutputs + v * kWidth, sums[r][v]);
            }
        }
    }
};

template <WeightFormat kFormat>
SWARM_TARGET inline Vec load_weights(const std::byte* at) {
    if constexpr (kFormat == WeightFormat::Fp32) {
        return load(reinterpret_cast<const float*>(at));
    } else if constexpr (kFormat == WeightFormat::Bf16) {
        return load_bf16(at);
    } else if constexpr (kFormat == WeightFormat::Fp16) {
        return load_half(at);
    } else {
        return load_int8(at);
    }
}

/// Adds the products of `inputs` inputs. `weights`: weight of the tile's first input and output.
/// `ahead`: the tile's share of a block that is wanted soon; a tile of one row does not use it.
template <WeightFormat kFormat, std::size_t kRows, std::size_t kVectors>
SWARM_TARGET inline void add_products(
    const std::byte* weights,
    const float* x,
    std::size_t stride,
    std::size_t inputs,
    const std::byte* ahead,
    Tile<kRows, kVectors>& tile
) {
    constexpr std::size_t kBytes = weight_bytes(kFormat);
    constexpr std::size_t kTileOutputs = kVectors * kWidth;
    constexpr std::size_t kAheadBytes =  // for each input
        kBlockBytes<kFormat> * kTileOutputs / kPanelOutputs / kBlockInputs;
    // A local copy stays in registers.
    Tile<kRows, kVectors> local = tile;
    for (std::size_t k = 0; k < inputs; ++k, weights += kPanelOutputs * kBytes) {
        if constexpr (kRows > 1) {
            for (std::size_t line = 0; line < kAheadBytes; line += kCacheLineBytes) {
                constexpr int kRead = 0;
                constexpr int kIntoSecondCache = 2;
                __builtin_prefetch(ahead + k * kAheadBytes + line, kRead, kIntoSecondCache);
            }
        }
        Vec loaded[kVectors];
        for (std::size_t v = 0; v < kVectors; ++v) {
            loaded[v] = load_weights<kFormat>(weights + v * kWidth * kBytes);
        }
        for (std::size_t r = 0; r < kRows; ++r) {
            const Vec value = spread(x[r * stride + k]);
            for (std::size_t v = 0; v < kVectors; ++v) {
                local.sums[r][v] = fma(value, loaded[v], local.sums[r][v]);
            }
        }
    }
    tile = local;
}

/// The inputs of a block for rows that follow each other.
struct BlockInputs {
    const float* x = nullptr;
    std::size_t stride = 0;  // values from one row to the next
    std::size_t count = 0;
};

/// Adds the products of a block to the sums of kRows rows, (kRows, kPanelOutputs).
template <WeightFormat kFormat, std::size_t kRows>
SWARM_TARGET void add_block(
    const std::byte* block, const BlockInputs& in, const std::byte* ahead, float* sums
) {
    constexpr std::size_t kVectors = tile_vectors(kRows);
    for (std::size_t first = 0; first < kPanelOutputs; first += kVectors * kWidth) {
        Tile<kRows, kVectors> tile;
        tile.read(sums + first);
        const std::byte* const soon = ahead + kBlockBytes<kFormat> * first / kPanelOutputs;
        if constexpr (kFormat != WeightFormat::Int8) {
            const std::byte* const weights = block + first * weight_bytes(kFormat);
            add_products<kFormat>(weights, in.x, in.stride, in.count, soon, tile);
        } else {
            const std::byte* const levels = block + kInt8ScaleBytes + first;
            Tile<kRows, kVectors> partial;
            partial.clear();
            add_products<kFormat>(levels, in.x, in.stride, in.count, soon, partial);
            const auto* const scales = reinterpret_cast<const float*>(block) + first;
            for (std::size_t r = 0; r < kRows; ++r) {
                for (std::size_t v = 0; v < kVectors; ++v) {
                    const Vec scale = load(scales + v * kWidth);
                    tile.sums[r][v] = fma(partial.sums[r][v], scale, tile.sums[r][v]);
                }
            }
        }
        tile.write(sums + first);
    }
}

using AddBlock = void (*)(const std::byte*, const BlockInputs&, const std::byte*, float*);

template <WeightFormat kFormat>
inline constexpr AddBlock kAddBlock[kTileRows] = {
    add_block<kFormat, 1>,
    add_block<kFormat, 2>,
    add_block<kFormat, 3>,
    add_block<kFormat, 4>,
    add_block<kFormat, 5>,
    add_block<kFormat, 6>};

/// Computes the sums of at most kRowsAtOnce rows and one panel, (rows, kPanelOutputs). The panel
/// is read in blocks from front to back, once for all rows: tiles of several rows are narrower than
/// a panel, and alone would read it from memory in strides. A chain of additions that pauses
/// between blocks is the same chain.
template <WeightFormat kFormat>
SWARM_TARGET void multiply_panel(
    const MatrixView& matrix, std::size_t panel, const Rows& x, float* sums
) {
    std::fill_n(sums, x.count * kPanelOutputs, 0.0F);
    const std::byte* block = matrix.panels + panel * matrix.panel_bytes;
    const std::size_t panels = (matrix.outputs + kPanelOutputs - 1) / kPanelOutputs;
    const std::byte* const end = matrix.panels + panels * matrix.panel_bytes;
    // One row fills a tile as wide as a panel, which reads in order by itself.
    const bool whole = x.count == 1 && kFormat != WeightFormat::Int8;
    const std::size_t step = whole ? matrix.inputs : kBlockInputs;
    for (std::size_t k = 0; k < matrix.inputs; k += step, block += kBlockBytes<kFormat>) {
        constexpr std::size_t kAhead = kBlocksAhead * kBlockBytes<kFormat>;
        const bool has_next = static_cast<std::size_t>(end - block) > kAhead + kBlockBytes<kFormat>;
        const std::byte* const ahead = has_next ? block + kAhead : block;
        const std::size_t inputs = std::min(step, matrix.inputs - k);
        for (std::size_t row = 0; row < x.count; row += kTileRows) {
            const BlockInputs in{x.values + row * x.stride + k, x.stride, inputs};
            const std::size_t rows = std::min(kTileRows, x.count - row);
            kAddBlock<kFormat>[rows - 1](block, in, ahead, sums + row * kPanelOutputs);
        }
    }
}

/// Multiplies by one panel after the other, kRows rows at a time, whose sums kPanelSums computes.
template <
    void (*kPanelSums)(const MatrixView& matrix, std::size_t panel, const Rows& x, float* sums),
    std::size_t kRows>
SWARM_TARGET void multiply_panels(
    const MatrixView& matrix, const Rows& x, float* out, std::size_t out_stride
) {
    alignas(kCacheLineBytes) float sums[kRows * kPanelOutputs];
    for (std::size_t panel = 0; panel * kPanelOutputs < matrix.outputs; ++panel) {
        const std::size_t first = panel * kPanelOutputs;
        const std::size_t outputs = std::min(kPanelOutputs, matrix.outputs - first);
        for (std::size_t row = 0; row < x.count; row += kRows) {
            const std::size_t rows = std::min(kRows, x.count - row);
            kPanelSums(matrix, panel, {x.values + row * x.stride, rows, x.stride}, sums);
            for (std::size_t r = 0; r < rows; ++r) {
                float* const to = out + (row + r) * out_stride + first;
                std::copy_n(sums + r * kPanelOutputs, outputs, to);
            }
        }
    }
}

template <WeightFormat kFormat>
SWARM_TARGET void multiply_as(
    const MatrixView& matrix, const Rows& x, float* out, std::size_t out_stride
) {
    multiply_panels<multiply_panel<kFormat>, kRowsAtOnce>(matrix, x, out, out_stride);
}

/// Products by WeightFormat::Blocks; vector_blocks.hpp has them.
SWARM_TARGET void multiply_blocks(
    const MatrixView& matrix, const Rows& x, float* out, std::size_t out_stride
);

/// Products by WeightFormat::F8; vector_f8.hpp has them.
SWARM_TARGET void multiply_f8(
    const MatrixView& matrix, const Rows& x, float* out, std::size_t out_stride
);

SWARM_TARGET void multiply(
    const MatrixView& matrix, const Rows& x, float* out, std::size_t out_stride
) {
    switch (matrix.format) {
        case WeightFormat::Fp32:
            return multiply_as<WeightFormat::Fp32>(matrix, x, out, out_stride);
        case WeightFormat::Bf16:
            return multiply_as<WeightFormat::Bf16>(matrix, x, out, out_stride);
        case WeightFormat::Int8:
            return multiply_as<WeightFormat::Int8>(matrix, x, out, out_stride);
        case WeightFormat::Fp16:
            return multiply_as<WeightFormat::Fp16>(matrix, x, out, out_stride);
        case WeightFormat::Blocks:
            return multiply_blocks(matrix, x, out, out_stride);
        case WeightFormat::F8:
            return multiply_f8(matrix, x, out, out_stride);
    }
}

constexpr std::size_t kLaneVectors = kLanes / kWidth;

SWARM_TARGET inline float sum_lanes(const Vec* vectors) {
    alignas(64) float lanes[kLanes];
    for (std::size_t v = 0; v < kLaneVectors; ++v) {
        store(lanes + v * kWidth, vectors[v]);
    }
    for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
        for (std::size_t lane = 0; lane < half; ++lane) {
            lanes[lane] += lanes[lane + half];
        }
    }
    return lanes[0];
}

SWARM_TARGET void normalise(
    const float* x, const float* weight, std::size_t width, float epsilon, float* out
) {
    Vec sums[kLaneVectors];
    std::fill_n(sums, kLaneVectors, zero());
    std::size_t i = 0;
    for (; i + kLanes <= width; i += kLanes) {
        for (std::size_t v = 0; v < kLaneVectors; ++v) {
            const Vec values = load(x + i + v * kWidth);
            sums[v] = fma(values, values, sums[v]);
        }
    }
    alignas(64) float rest[kLanes] = {};  // 0 x 0 changes no sum of squares
    std::copy(x + i, x + width, rest);
    for (std::size_t v = 0; v < kLaneVectors; ++v) {
        const Vec values = load(rest + v * kWidth);
        sums[v] = fma(values, values, sums[v]);
    }
    const float mean = sum_lanes(sums) / static_cast<float>(width);
    const float scale = 1.0F / std::sqrt(mean + epsilon);
    for (i = 0; i + kWidth <= width; i += kWidth) {
        store(out + i, mul(mul(load(x + i), spread(scale)), load(weight + i)));
    }
    for (; i < width; ++i) {
        out[i] = x[i] * scale * weight[i];
    }
}

/// Attention; vector_attention.hpp has it.
SWARM_TARGET void attend(
    const HeadCache& cache, const Rows& queries, float* scores, float* out, std::size_t out_stride
);

constexpr Kernels kernels_on(Path path) {
    return {
        .path = path,
        .multiply = multiply,
        .normalise = normalise,
        .gate = gate_row<gated>,
        .gate_gelu = gate_row<gated_gelu>,
        .soft_cap = soft_cap,
        .attend = attend};
}

}  // namespace
}  // namespace stacking::kernels
