// The plots of one report, as HTML: utilisation, peers, step times, bytes, events.
// With more than kSeriesMax stages a plot shows the lowest, the median and the highest at each
// time.
// Threading: stateless. Cost: O(samples x stages).
#pragma once

#include "sim/report/sim_report.hpp"

#include <string>

namespace sim {

std::string plots_of(const SimReport& report);

/// Returns plots with a curve for each report, kSeriesMax of them at most.
std::string compared_plots_of(const std::vector<SimReport>& reports);

}  // namespace sim
