// The figures of a report as one row, for tables of several reports.
// Threading: stateless.
#pragma once

#include "sim/report/sim_report.hpp"

#include <string>
#include <vector>

namespace sim {

using Row = std::vector<std::string>;

/// The number of columns from the left that hold names; the others hold figures.
inline constexpr std::size_t kNameColumns = 2;

Row row_names();
Row row_of(const SimReport& report);

}  // namespace sim
