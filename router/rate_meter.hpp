// Measures a peer's speed as its sender sees it: work units (tokens x layers) per second.
// Rule: EMA of the time between two consecutive PASSED of that peer while at least one more of our
// offers waited there, else of send -> PASSED. A timeout enters with its elapsed time, and never
// makes a peer look faster. A peer's own word is never used (I10). Source: step protocol section 3.
// Invariant: the smoothed figure is seconds per unit, so that one hiccup weighs what it cost. After
// a timeout the figure is a guess: PASSED that are far faster then halve the gap on a logarithmic
// scale.
// Threading: single strand. Cost: O(1), no allocation.
#pragma once

#include "swarm/base/units.hpp"

#include <array>
#include <cstddef>
#include <optional>

namespace router {

using swarm::Duration;
using swarm::TimePoint;

class RateMeter {
 public:
    /// `work_units` was offered at `sent`; `waiting` more of our offers wait there after this
    /// PASSED. Both functions return true when the figure took note of it.
    bool passed(double work_units, TimePoint sent, TimePoint now, std::size_t waiting);
    /// The deadline passed without a PASSED.
    bool timed_out(double work_units, TimePoint sent, TimePoint now);

    /// Returns nothing before the first observation.
    [[nodiscard]] std::optional<double> units_per_s() const { return units_per_s_; }

 private:
    bool observe(double work_units, Duration took);
    [[nodiscard]] double smoothed(double observed_s_per_unit);

    std::optional<double> units_per_s_;
    std::optional<TimePoint> last_passed_;
    bool waited_ = false;
    bool guessed_ = false;  // a timeout came, and no PASSED agreed with the figure since
};

/// The highest rate of the last 30 s (the figure that stage capacity is made of), to the resolution
/// of kSpan: a peer that is shared with other senders, or has backwards between, seems slower.
class RecentBest {
 public:
    void observe(double units_per_s, TimePoint now);

    /// Returns 0 when no rate was seen in that time.
    [[nodiscard]] double units_per_s(TimePoint now) const;

 private:
    static constexpr Duration kSpan = std::chrono::seconds(5);
    static constexpr std::size_t kSpans = 6;

    /// The best rate of one span of time.
    struct Best {
        Duration::rep span = 0;
        double units_per_s = 0;
    };

    std::array<Best, kSpans> best_{};  // at [span % kSpans]
};

}  // namespace router
