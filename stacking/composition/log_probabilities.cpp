#include "stacking/composition/log_probabilities.hpp"

#include <algorithm>
#include <cmath>

namespace stacking::composition {
namespace {

/// Returns the logarithm of the sum of exp(logit); nullopt when a logit is not finite.
std::optional<double> log_of_sum(std::span<const float> logits) {
    float most = logits.front();
    bool finite = true;
    for (const float logit : logits) {
        finite = finite && std::isfinite(logit);
        most = std::max(most, logit);
    }
    if (!finite) {
        return std::nullopt;
    }
    double sum = 0;
    for (const float logit : logits) {
        sum += std::exp(static_cast<double>(logit) - most);
    }
    return most + std::log(sum);
}

}  // namespace

bool normalise(std::span<float> logits) {
    const std::optional<double> shift = log_of_sum(logits);
    if (!shift) {
        return false;
    }
    for (float& logit : logits) {
        logit = static_cast<float>(logit - *shift);
    }
    return true;
}

std::optional<double> log_probability(std::span<const float> logits, std::size_t token) {
    const std::optional<double> shift = log_of_sum(logits);
    return shift ? std::optional(logits[token] - *shift) : std::nullopt;
}

}  // namespace stacking::composition
