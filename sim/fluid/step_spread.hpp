// How long steps took, when they are known as stretches of time in which each took as long: the
// mean and quantiles over all steps.
// Units: seconds, steps (fractions, too). Threading: none.
// Cost: add() O(1); memory one entry per change of the rate; times() O(n log n).
#pragma once

#include "sim/report/sim_report.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace sim {

class StepSpread {
 public:
    /// So many steps took `step_s` each.
    void add(double step_s, double steps);
    /// Nothing when there was not a whole step.
    [[nodiscard]] std::optional<StepTimes> times() const;

 private:
    std::vector<std::pair<double, double>> stretches_;  // seconds per step, steps
};

}  // namespace sim
