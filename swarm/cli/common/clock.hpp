// The real time of this machine, on the scale of the roles, and that of the wall.
#pragma once

#include "swarm/base/units.hpp"

#include <chrono>
#include <cstdint>
#include <ctime>

namespace swarm::cli {

inline TimePoint clock_now() {
    return TimePoint(
        std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())
    );
}

/// Returns the time of day in seconds since 1970 by the clock on the wall: the zone's hours are
/// added.
inline std::int64_t local_time_s() {
    const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    std::tm local{};
    localtime_r(&now, &local);
    return std::int64_t{now} + local.tm_gmtoff;
}

}  // namespace swarm::cli
