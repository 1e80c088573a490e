// How a stage keeps its weights: as they are stored, or converted to one format.
// Invariant: fp32 and as-is give the same bits for each model, because kernels decode every stored
// weight to the fp32 value that a reader gives. So peers with either are exchangeable, and
// values_of() names them alike.
// Threading: constants. Errors: none.
#pragma once

#include "stacking/kernels/packed_matrix.hpp"

#include <optional>
#include <string_view>

namespace stacking::llama {

class WeightChoice {
 public:
    // NOLINTNEXTLINE(google-explicit-constructor): a format is a choice
    constexpr WeightChoice(kernels::WeightFormat format) : format_(format) {}

    static constexpr WeightChoice as_is() { return WeightChoice(std::nullopt); }

    /// Returns none for as-is.
    [[nodiscard]] constexpr std::optional<kernels::WeightFormat> format() const { return format_; }

 private:
    constexpr explicit WeightChoice(std::nullopt_t /*none*/) {}

    std::optional<kernels::WeightFormat> format_;
};

/// Parses "as-is", "fp32", "bf16" or "int8".
std::optional<WeightChoice> parse_weight_choice(std::string_view name);

/// Name of the values that result: two choices with one name give the same bits.
std::string_view values_of(WeightChoice choice);

}  // namespace stacking::llama
