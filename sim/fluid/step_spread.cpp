#include "sim/fluid/step_spread.hpp"

#include <algorithm>

namespace sim {

void StepSpread::add(double step_s, double steps) {
    if (!stretches_.empty() && stretches_.back().first == step_s) {
        stretches_.back().second += steps;
    } else {
        stretches_.emplace_back(step_s, steps);
    }
}

std::optional<StepTimes> StepSpread::times() const {
    double all = 0;
    double seconds = 0;
    for (const auto& [step_s, steps] : stretches_) {
        all += steps;
        seconds += step_s * steps;
    }
    if (all < 1) {
        return std::nullopt;
    }
    std::vector<std::pair<double, double>> sorted = stretches_;
    std::sort(sorted.begin(), sorted.end());
    const auto quantile = [&](double share) {
        double below = 0;
        for (const auto& [step_s, steps] : sorted) {
            below += steps;
            if (below >= share * all) {
                return step_s;
            }
        }
        return sorted.back().first;
    };
    return StepTimes{seconds / all, quantile(0.5), quantile(0.99)};
}

}  // namespace sim
