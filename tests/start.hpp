// The moment at which tests begin: the origin of their clock.
#pragma once

#include "swarm/base/units.hpp"

namespace swarm::test {

inline constexpr TimePoint kStart{};

}  // namespace swarm::test
