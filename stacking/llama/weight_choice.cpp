#include "stacking/llama/weight_choice.hpp"

namespace stacking::llama {

std::optional<WeightChoice> parse_weight_choice(std::string_view name) {
    if (name == "as-is") {
        return WeightChoice::as_is();
    }
    if (const auto format = kernels::parse_weight_format(name)) {
        return WeightChoice(*format);
    }
    return std::nullopt;
}

std::string_view values_of(WeightChoice choice) {
    return name_of(choice.format().value_or(kernels::WeightFormat::Fp32));
}

}  // namespace stacking::llama
