#include "router/rate_meter.hpp"

#include "swarm/base/units.hpp"

#include <algorithm>
#include <cmath>

namespace router {
namespace {

using swarm::in_seconds;

/// Weight of the newest observation: a change of speed shows by half after three of them.
constexpr double kNewest = 0.25;
/// Part of the known seconds per unit below which a PASSED refutes the guess after a timeout.
constexpr double kFarFaster = 0.5;
/// The time between two PASSED of one turn: the clock did not move between them.
constexpr double kShortestSeconds = 1e-9;

}  // namespace

bool RateMeter::passed(double work_units, TimePoint sent, TimePoint now, std::size_t waiting) {
    // An offer sent after the last PASSED cannot have been worked on before it was sent.
    const TimePoint began = waited_ && last_passed_ ? std::max(*last_passed_, sent) : sent;
    last_passed_ = now;
    waited_ = waiting > 0;
    return observe(work_units, now - began);
}

bool RateMeter::timed_out(double work_units, TimePoint sent, TimePoint now) {
    const double seconds = in_seconds(now - sent);
    if (units_per_s_ && seconds * *units_per_s_ <= work_units) {
        return false;
    }
    guessed_ = false;
    const bool observed = observe(work_units, now - sent);
    guessed_ = true;
    return observed;
}

bool RateMeter::observe(double work_units, Duration took) {
    if (!(work_units > 0)) {
        return false;
    }
    const double observed = std::max(in_seconds(took), kShortestSeconds) / work_units;
    units_per_s_ = 1 / smoothed(observed);
    return true;
}

double RateMeter::smoothed(double observed_s_per_unit) {
    if (!units_per_s_) {
        return observed_s_per_unit;
    }
    const double known = 1 / *units_per_s_;
    if (guessed_ && observed_s_per_unit < kFarFaster * known) {
        return std::sqrt(known * observed_s_per_unit);
    }
    guessed_ = false;
    return (1 - kNewest) * known + kNewest * observed_s_per_unit;
}

void RecentBest::observe(double units_per_s, TimePoint now) {
    const Duration::rep span = now.time_since_epoch() / kSpan;
    Best& best = best_[static_cast<std::size_t>(span) % kSpans];
    if (best.span != span) {
        best = {span, 0};
    }
    best.units_per_s = std::max(best.units_per_s, units_per_s);
}

double RecentBest::units_per_s(TimePoint now) const {
    const Duration::rep span = now.time_since_epoch() / kSpan;
    double best = 0;
    for (const Best& entry : best_) {
        if (entry.span > span - static_cast<Duration::rep>(kSpans)) {
            best = std::max(best, entry.units_per_s);
        }
    }
    return best;
}

}  // namespace router
