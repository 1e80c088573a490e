// Where a packed matrix keeps what. Panels of 64 outputs follow each other; the last one is filled
// up with zeros. Within a panel, inputs ascending:
//   Fp32, Bf16   of each input 64 weights
//   Int8         of each 32 inputs 64 fp32 scales, then of each of these inputs 64 levels; the last
//                group is as long as the others, whatever it holds
// So a row times a matrix reads one stream, front to back. Threading: constants. Errors: none.
#pragma once

#include "stacking/kernels/kernels.hpp"

#include <cstddef>
#include <cstdint>

namespace stacking::kernels {

inline constexpr std::size_t kInt8ScaleBytes = kPanelOutputs * sizeof(float);
inline constexpr std::size_t kInt8GroupBytes = kInt8ScaleBytes + kScaleGroup * kPanelOutputs;

/// Bytes of one weight, without its share of a scale.
constexpr std::size_t weight_bytes(WeightFormat format) {
    switch (format) {
        case WeightFormat::Fp32:
            return sizeof(float);
        case WeightFormat::Bf16:
            return sizeof(std::uint16_t);
        case WeightFormat::Int8:
            return sizeof(std::int8_t);
    }
    return 0;
}

constexpr std::size_t panel_bytes(WeightFormat format, std::size_t inputs) {
    return format == WeightFormat::Int8 ? (inputs + kScaleGroup - 1) / kScaleGroup * kInt8GroupBytes
                                        : inputs * kPanelOutputs * weight_bytes(format);
}

}  // namespace stacking::kernels
