// A report made by hand, filled like the runners': all plots have data.
// Units: the same as in sim_report.hpp.
#pragma once

#include "sim/report/sim_report.hpp"

namespace sim {

/// Three stages, 61 samples over an hour, 180 steps, some events.
SimReport example_report();
/// The same report as the fluid mode would make it: no single steps, nothing replayed.
SimReport fluid_example_report();

}  // namespace sim
