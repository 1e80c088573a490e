// A peer's own clock: its role's `now` and deadlines are times of this clock.
// Invariant: the clock never goes back; world_time(t) is the first moment at which the clock shows
// t or more, so a deadline is never early (C3). Whole nanoseconds, the same on every compiler.
// Units: nanoseconds; drift in millionths of the world's time, above -10^6, rounded to thousandths
// of them.
// Cost: O(1); a clock without offset and drift costs a comparison.
#pragma once

#include "swarm/base/units.hpp"

#include <cmath>

namespace sim {

using swarm::Duration;
using swarm::TimePoint;

class Clock {
 public:
    /// `offset`: the time that the clock shows at the world's time 0; may be negative.
    Clock(Duration offset, double drift_ppm)
        : offset_(offset), drift_ppb_(std::llround(drift_ppm * 1000)) {}

    /// The time that this clock shows at the world's time `world`.
    [[nodiscard]] TimePoint local_time(TimePoint world) const {
        return is_exact() ? world : world + offset_ + drift(world.time_since_epoch());
    }

    /// Returns kNever and kAtOnce unchanged.
    [[nodiscard]] TimePoint world_time(TimePoint local) const {
        if (is_exact() || local == swarm::kNever || local == swarm::kAtOnce) {
            return local;
        }
        return first_showing(local);
    }

 private:
    static constexpr Duration::rep kBillion = 1'000'000'000;

    [[nodiscard]] bool is_exact() const { return offset_ == Duration{} && drift_ppb_ == 0; }

    // Computed in two parts: nanoseconds x ppb overflows.
    [[nodiscard]] Duration drift(Duration elapsed) const {
        const Duration::rep whole = elapsed.count() / kBillion * drift_ppb_;
        const Duration::rep rest = elapsed.count() % kBillion * drift_ppb_;
        return Duration(whole + rest / kBillion);
    }

    [[nodiscard]] TimePoint first_showing(TimePoint local) const {
        // Each round divides the error by 10^9 / drift; the last steps are single nanoseconds.
        TimePoint world = local - offset_;
        for (Duration error = local - local_time(world); error / 2 != Duration{};
             error = local - local_time(world)) {
            world += error;
        }
        while (local_time(world) < local) {
            world += Duration(1);
        }
        while (local_time(world - Duration(1)) >= local) {
            world -= Duration(1);
        }
        return world;
    }

    Duration offset_;
    Duration::rep drift_ppb_;
};

}  // namespace sim
