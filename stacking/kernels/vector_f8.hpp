// Products by weights of F8_E4M3 with scales on vectors (packed_layout.hpp). kernels_avx2.cpp and
// kernels_avx512.cpp include this file after vector_blocks.hpp. They declare besides:
//   load_e4m3   kWidth bytes as their values x 2^-8: the bits of e4m3 are those of a fp16 number,
//               which the processor widens exactly, the smallest ones, too
// Invariant: a weight is value x scale, rounded once to fp32 as scale_row() rounds it; 2^8 goes
// into the scale and rounds nothing, because PackedMatrix takes no scale near the largest number. A
// row's sums are those of the fp32 loop. Threading, errors, cost: those of kernels.hpp.
#pragma once

#include "stacking/kernels/vector_blocks.hpp"

namespace stacking::kernels {
namespace {

/// Vectors of outputs whose sums are under way together.
constexpr std::size_t kF8Vectors = unit_vectors(1);
constexpr std::size_t kF8Outputs = kF8Vectors * kWidth;

constexpr float kE4m3Scale = 0x1p+8F;

/// The scales of a group for some outputs.
struct F8Scales {
    Vec by[kF8Vectors];

    SWARM_INLINE explicit F8Scales(const std::byte* at) {
        for (std::size_t v = 0; v < kF8Vectors; ++v) {
            const auto* const from = reinterpret_cast<const float*>(at) + v * kWidth;
            by[v] = mul(load(from), spread(kE4m3Scale));
        }
    }
};

/// Adds the products of a group's inputs for one row.
SWARM_TARGET void add_f8_group(
    const std::byte* group, const float* x, std::size_t inputs, float* sums
) {
    for (std::size_t first = 0; first < kPanelOutputs; first += kF8Outputs) {
        const F8Scales scales(group + first * sizeof(float));
        const std::byte* weights = group + kF8ScaleBytes + first;
        Vec local[kF8Vectors];
        for (std::size_t v = 0; v < kF8Vectors; ++v) {
            local[v] = load(sums + first + v * kWidth);
        }
        for (std::size_t k = 0; k < inputs; ++k, weights += kPanelOutputs) {
            const Vec value = spread(x[k]);
            for (std::size_t v = 0; v < kF8Vectors; ++v) {
                const Vec weight = mul(load_e4m3(weights + v * kWidth), scales.by[v]);
                local[v] = fma(value, weight, local[v]);
            }
        }
        for (std::size_t v = 0; v < kF8Vectors; ++v) {
            store(sums + first + v * kWidth, local[v]);
        }
    }
}

/// Writes the weights of some inputs of a group as a block of the fp32 layout.
SWARM_TARGET void decode_f8(
    const std::byte* group, std::size_t first_input, std::size_t inputs, float* to
) {
    for (std::size_t first = 0; first < kPanelOutputs; first += kF8Outputs) {
        const F8Scales scales(group + first * sizeof(float));
        for (std::size_t k = 0; k < inputs; ++k) {
            const std::byte* const weights =
                group + kF8ScaleBytes + (first_input + k) * kPanelOutputs + first;
            for (std::size_t v = 0; v < kF8Vectors; ++v) {
                const Vec weight = mul(load_e4m3(weights + v * kWidth), scales.by[v]);
                store(to + k * kPanelOutputs + first + v * kWidth, weight);
            }
        }
    }
}

/// Computes the sums of some rows and one panel. Several rows share one decoding of 32 inputs.
SWARM_TARGET void multiply_f8_panel(
    const MatrixView& matrix, std::size_t panel, const Rows& x, float* sums
) {
    alignas(kCacheLineBytes) float weights[kBlockInputs * kPanelOutputs];
    const auto* const decoded = reinterpret_cast<const std::byte*>(weights);
    std::fill_n(sums, x.count * kPanelOutputs, 0.0F);
    const std::byte* group = matrix.panels + panel * matrix.panel_bytes;
    for (std::size_t k = 0; k < matrix.inputs; k += kF8Group, group += kF8GroupBytes) {
        const std::size_t inputs = std::min(kF8Group, matrix.inputs - k);
        if (x.count == 1) {
            add_f8_group(group, x.values + k, inputs, sums);
            continue;
        }
        for (std::size_t at = 0; at < inputs; at += kBlockInputs) {
            const std::size_t count = std::min(kBlockInputs, inputs - at);
            decode_f8(group, at, count, weights);
            for (std::size_t row = 0; row < x.count; row += kTileRows) {
                const BlockInputs in{x.values + row * x.stride + k + at, x.stride, count};
                const std::size_t rows = std::min(kTileRows, x.count - row);
                kAddBlock<WeightFormat::Fp32>[rows - 1](
                    decoded, in, decoded, sums + row * kPanelOutputs
                );
            }
        }
    }
}

SWARM_TARGET void multiply_f8(
    const MatrixView& matrix, const Rows& x, float* out, std::size_t out_stride
) {
    multiply_panels<multiply_f8_panel, kUnitRowsAtOnce>(matrix, x, out, out_stride);
}

}  // namespace
}  // namespace stacking::kernels
