#include "stacking/composition/log_probabilities.hpp"

#include <algorithm>
#include <cmath>

namespace stacking::composition {

bool normalise(std::span<float> logits) {
    float most = logits.front();
    bool finite = true;
    for (const float logit : logits) {
        finite = finite && std::isfinite(logit);
        most = std::max(most, logit);
    }
    double sum = 0;
    for (const float logit : logits) {
        sum += std::exp(static_cast<double>(logit) - most);
    }
    const double shift = most + std::log(sum);
    for (float& logit : logits) {
        logit = static_cast<float>(logit - shift);
    }
    return finite;
}

}  // namespace stacking::composition
