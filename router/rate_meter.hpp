// How fast a peer works, as its sender sees it: work units (tokens x layers) per second.
// Rule: EMA of the time between two consecutive PASSED of that peer while at least one more of
// ours waited there, else of send -> PASSED. A timeout enters with its elapsed time. A peer's own
// word is never used (I10). Source: step protocol section 3.
#pragma once

#include "swarm/base/units.hpp"

#include <cstddef>
#include <optional>

namespace router {

using swarm::Duration;
using swarm::TimePoint;

class RateMeter {
 public:
    /// `work_units` was offered at `sent`; `waiting` more of ours wait there after this PASSED.
    void passed(double work_units, TimePoint sent, TimePoint now, std::size_t waiting);
    /// Nothing came within the deadline.
    void timed_out(double work_units, TimePoint sent, TimePoint now);

    /// Nothing before the first observation.
    [[nodiscard]] std::optional<double> units_per_s() const { return units_per_s_; }
    /// The highest smoothed rate of the last 30 s (the figure that stage capacity is made of).
    [[nodiscard]] double best_recent(TimePoint now) const;

 private:
    void observe(double work_units, Duration took, TimePoint now);

    std::optional<double> units_per_s_;
    std::optional<TimePoint> last_passed_;
    bool waited_ = false;
    double best_ = 0;
    TimePoint best_at_{};
};

}  // namespace router
