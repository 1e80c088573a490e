// A matrix (outputs, inputs) as the kernels read it (packed_layout.hpp), in one of three formats.
//   Fp32   as given
//   Bf16   the nearest; 2 bytes per weight
//   Int8   levels -127 to 127 times a scale that 32 neighbours along the inputs share: 1.125 bytes
//          per weight. Groups of 32, not rows: a row's largest weight would cost all others their
//          precision; and what a GGUF stores as Q8_0 comes out unchanged.
// Invariant: packing looks at one row at a time, so a matrix in parts is the matrix as a whole.
// Threading: const and any thread; add_rows() from one. Errors: none; sizes are the caller's. A
// group that holds NaN or infinity becomes NaN. Source: own.
#pragma once

#include "stacking/kernels/kernels.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace stacking::kernels {

/// "fp32", "bf16", "int8"
std::string_view name_of(WeightFormat format);
std::optional<WeightFormat> parse_weight_format(std::string_view name);

class PackedMatrix {
 public:
    PackedMatrix(WeightFormat format, std::size_t outputs, std::size_t inputs);

    /// `rows`: whole rows, (count, inputs), the first of which is output `first`.
    void add_rows(std::size_t first, std::span<const float> rows);

    /// The weights of one output, as they are now: (inputs).
    void read_row(std::size_t output, std::span<float> row) const;

    [[nodiscard]] MatrixView view() const;

    [[nodiscard]] std::size_t outputs() const { return outputs_; }

    [[nodiscard]] std::size_t inputs() const { return inputs_; }

    [[nodiscard]] std::size_t bytes() const { return bytes_; }

    static std::size_t bytes_of(WeightFormat format, std::size_t outputs, std::size_t inputs);

 private:
    struct Free {
        void operator()(std::byte* bytes) const { std::free(bytes); }
    };

    void pack_levels(std::byte* panel, std::size_t output, std::span<const float> row);

    WeightFormat format_;
    std::size_t outputs_;
    std::size_t inputs_;
    std::size_t panel_bytes_;
    std::size_t bytes_;
    std::unique_ptr<std::byte[], Free> panels_;  // aligned to cache lines
};

}  // namespace stacking::kernels
