// The real time of this machine, on the scale of the roles.
#pragma once

#include "swarm/base/units.hpp"

#include <chrono>

namespace swarm::cli {

inline TimePoint clock_now() {
    return TimePoint(
        std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())
    );
}

}  // namespace swarm::cli
