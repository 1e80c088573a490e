// A matrix (outputs, inputs) in the layout that the kernels read (packed_layout.hpp): as it is
// stored in a file, with every bit of its weights, or made from values in one of three formats.
//   Fp32   the given values
//   Bf16   the nearest values; 2 bytes per weight
//   Int8   levels -127 to 127 times a scale per 32 neighbours along the inputs: 1.125 bytes per
//          weight. Reasons for groups of 32 instead of rows: the largest weight of a row would cost
//          all others their precision, and the Q8_0 weights of a GGUF come out unchanged.
// Invariant: packing looks at one row at a time, so a matrix packed in parts equals the whole one.
// Threading: const and any thread; threads may add rows of different panels at the same time.
// Errors: none; the caller checks sizes. A group that holds NaN or infinity becomes NaN.
// Source: own.
#pragma once

#include "stacking/kernels/kernels.hpp"
#include "stacking/kernels/panel_memory.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace stacking::kernels {

/// Name of a format: "fp32", "bf16", "int8", "fp16", "fp8" or "blocks".
std::string_view name_of(WeightFormat format);
/// Returns one of the formats that add_rows() makes: fp32, bf16, int8.
std::optional<WeightFormat> parse_weight_format(std::string_view name);

/// Scales of F8 must be smaller, so that a factor of 2^8 overflows none of them.
inline constexpr float kF8ScaleMax = 0x1p+119F;

class PackedMatrix {
 public:
    PackedMatrix(WeightFormat format, std::size_t outputs, std::size_t inputs);

    /// Makes a matrix that keeps weights as they are stored. REQUIRES: keeps(type), and the inputs
    /// are whole blocks.
    PackedMatrix(blocks::WeightType type, std::size_t outputs, std::size_t inputs);

    /// Whether weights of the type can be kept as they are stored.
    static bool keeps(blocks::WeightType type);

    /// Packs whole rows, (count, inputs), as the outputs from `first` on.
    void add_rows(std::size_t first, std::span<const float> rows);

    /// Packs whole rows as they are stored; those of F8_E4M3 have scales of 1. Returns false when a
    /// weight is infinite or no number. REQUIRES: the matrix was made for their type.
    [[nodiscard]] bool add_stored(std::size_t first, std::span<const std::byte> rows);

    /// Packs whole rows of F8_E4M3 whose weights are multiplied by scales, (rows, groups of
    /// kF8Group inputs). Returns false when a product is infinite or no number.
    /// REQUIRES: the matrix was made for F8_E4M3, and each scale is below kF8ScaleMax.
    [[nodiscard]] bool add_scaled(
        std::size_t first, std::span<const std::byte> rows, std::span<const float> scales
    );

    /// Writes the weights of one output as they are after packing, (inputs).
    void read_row(std::size_t output, std::span<float> row) const;

    [[nodiscard]] MatrixView view() const;

    [[nodiscard]] std::size_t outputs() const { return outputs_; }

    [[nodiscard]] std::size_t inputs() const { return inputs_; }

    [[nodiscard]] std::size_t bytes() const { return bytes_; }

    static std::size_t bytes_of(WeightFormat format, std::size_t outputs, std::size_t inputs);
    static std::size_t bytes_of(blocks::WeightType type, std::size_t outputs, std::size_t inputs);

 private:
    PackedMatrix(
        WeightFormat format, blocks::WeightType type, std::size_t outputs, std::size_t inputs
    );

    /// Calls into_panel(PanelRows) for each panel of the rows. Returns whether all returned true.
    template <class Pack>
    bool pack(
        std::size_t first,
        std::span<const std::byte> rows,
        std::size_t row_bytes,
        const Pack& into_panel
    );

    WeightFormat format_;
    blocks::WeightType type_;  // type of the Blocks
    std::size_t outputs_;
    std::size_t inputs_;
    std::size_t panel_bytes_;
    std::size_t bytes_;
    PanelMemory panels_;
};

}  // namespace stacking::kernels
