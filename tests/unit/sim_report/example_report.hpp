// A report made by hand, as the runners would fill it: all plots have data.
// Units: as sim_report.hpp.
#pragma once

#include "sim/report/sim_report.hpp"

namespace sim {

/// Three stages, 61 samples over an hour, 180 steps, some events.
SimReport example_report();
/// The same as the fluid mode would say it: no single steps, nothing replayed.
SimReport fluid_example_report();

}  // namespace sim
