#include "stacking/composition/bridge.hpp"

#include "stacking/composition/refusal.hpp"
#include "stages/files/safetensors.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace stacking::composition {

using swarm::ErrorCode;

namespace {

constexpr const char* kMatrix = "bridge.weight";
constexpr const char* kBias = "bridge.bias";
constexpr float kEpsilon = 1e-5F;

}  // namespace

void normalise_rows(std::span<float> rows, std::size_t width) {
    for (std::size_t at = 0; at < rows.size(); at += width) {
        const std::span<float> row = rows.subspan(at, width);
        double squares = 0;
        for (const float value : row) {
            squares += static_cast<double>(value) * value;
        }
        const double mean = squares / static_cast<double>(width);
        const auto scale = static_cast<float>(1 / std::sqrt(mean + kEpsilon));
        for (float& value : row) {
            value *= scale;
        }
    }
}

Bridge Bridge::zero(std::uint32_t inputs, std::uint32_t outputs) {
    return {inputs, outputs, std::vector<float>((std::size_t{inputs} + 1) * outputs)};
}

Bridge Bridge::from(
    std::uint32_t inputs, std::uint32_t outputs, std::span<const float> parameters
) {
    return {inputs, outputs, {parameters.begin(), parameters.end()}};
}

swarm::Result<Bridge> Bridge::parse(std::span<const std::byte> file) {
    SWARM_TRY(const auto parsed, stages::Safetensors::parse(file));
    const stages::NamedTensor* const matrix = parsed.find(kMatrix);
    const stages::NamedTensor* const bias = parsed.find(kBias);
    const bool fits = matrix != nullptr && bias != nullptr && matrix->shape.size() == 2 &&
                      bias->shape.size() == 1 && bias->shape[0] == matrix->shape[0] &&
                      matrix->shape[0] > 0 && matrix->shape[1] > 0;
    if (!fits) {
        return refusal(ErrorCode::Mismatch, "a bridge is bridge.weight (C2, C1), bridge.bias (C2)");
    }
    std::vector<float> parameters(matrix->values.begin(), matrix->values.end());
    parameters.insert(parameters.end(), bias->values.begin(), bias->values.end());
    if (!std::ranges::all_of(parameters, [](float value) { return std::isfinite(value); })) {
        return refusal(ErrorCode::NotFinite, "the bridge has numbers that are not finite");
    }
    return Bridge(matrix->shape[1], matrix->shape[0], std::move(parameters));
}

std::vector<std::byte> Bridge::to_file() const {
    const std::size_t matrix = std::size_t{inputs_} * outputs_;
    const std::span<const float> all = parameters_;
    const std::vector<stages::NamedTensor> tensors{
        {kMatrix, {outputs_, inputs_}, all.first(matrix)},
        {kBias, {outputs_}, all.subspan(matrix)}};
    return stages::write_safetensors(tensors);
}

void Bridge::add(std::span<const float> normalised, std::span<float> x) const {
    const float* const bias = parameters_.data() + std::size_t{inputs_} * outputs_;
    for (std::size_t row = 0; row < x.size() / outputs_; ++row) {
        const float* const in = normalised.data() + row * inputs_;
        for (std::size_t out = 0; out < outputs_; ++out) {
            const float* const weights = parameters_.data() + out * inputs_;
            float sum = 0;
            for (std::size_t i = 0; i < inputs_; ++i) {
                sum += weights[i] * in[i];
            }
            x[row * outputs_ + out] += sum + bias[out];
        }
    }
}

}  // namespace stacking::composition
