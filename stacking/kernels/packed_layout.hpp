// The layout of a packed matrix. Panels of 64 outputs follow each other; zeros fill the last panel.
// Within a panel, by ascending input:
//   Fp32, Bf16, Fp16   for each input 64 weights
//   Blocks       block_layout.hpp
//   Int8         for each 32 inputs 64 fp32 scales, then for each of these inputs 64 levels; the
//                last group is as long as the others, however few inputs it holds
//   F8           for each 128 inputs 64 fp32 scales, then for each of these inputs 64 bytes; the
//                last group has the inputs that are left
// So a row times a matrix reads one stream from front to back. Threading: constants. Errors: none.
#pragma once

#include "stacking/kernels/kernels.hpp"

#include <cstddef>
#include <cstdint>

namespace stacking::kernels {

inline constexpr std::size_t kInt8ScaleBytes = kPanelOutputs * sizeof(float);
inline constexpr std::size_t kInt8GroupBytes = kInt8ScaleBytes + kScaleGroup * kPanelOutputs;

inline constexpr std::size_t kF8ScaleBytes = kPanelOutputs * sizeof(float);
inline constexpr std::size_t kF8GroupBytes = kF8ScaleBytes + kF8Group * kPanelOutputs;

/// Bytes of one weight; the scales are not counted.
constexpr std::size_t weight_bytes(WeightFormat format) {
    switch (format) {
        case WeightFormat::Fp32:
            return sizeof(float);
        case WeightFormat::Bf16:
            return sizeof(std::uint16_t);
        case WeightFormat::Fp16:
            return sizeof(std::uint16_t);
        case WeightFormat::Int8:
        case WeightFormat::F8:
            return sizeof(std::int8_t);
        case WeightFormat::Blocks:
            break;  // block_layout.hpp
    }
    return 0;
}

constexpr std::size_t f8_groups(std::size_t inputs) {
    return (inputs + kF8Group - 1) / kF8Group;
}

constexpr std::size_t panel_bytes(WeightFormat format, std::size_t inputs) {
    if (format == WeightFormat::Int8) {
        return (inputs + kScaleGroup - 1) / kScaleGroup * kInt8GroupBytes;
    }
    const std::size_t scales = format == WeightFormat::F8 ? f8_groups(inputs) * kF8ScaleBytes : 0;
    return scales + inputs * kPanelOutputs * weight_bytes(format);
}

}  // namespace stacking::kernels
