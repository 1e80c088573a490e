// The spread of step times. They are known as stretches of time in which each step took as long;
// the result is the mean and quantiles over all steps.
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
    /// Adds `steps` steps of `step_s` seconds each.
    void add(double step_s, double steps);
    /// Returns nothing when there was not a whole step.
    [[nodiscard]] std::optional<StepTimes> times() const;

 private:
    std::vector<std::pair<double, double>> stretches_;  // seconds per step, steps
};

}  // namespace sim
