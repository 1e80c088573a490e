// The smallest request: one unit of work.
#pragma once

#include "router/policy.hpp"

namespace router::test {

inline constexpr Request kOneUnit{.work_units = 1};

}  // namespace router::test
