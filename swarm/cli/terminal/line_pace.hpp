// Decides which progress lines go to a file or a pipe, where each stays. Short runs show every
// step, and long ones do not flood the file.
// Invariant: with a period, two admitted lines are at least that far apart; without one, that holds
// after the first kEach lines, with kUsual as period.
// Threading: one thread.
#pragma once

#include "swarm/base/units.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

namespace swarm::cli {

class LinePace {
 public:
    static constexpr std::uint32_t kEach = 60;
    static constexpr Duration kUsual = std::chrono::seconds(10);

    /// `period`: nullopt stands for the usual pace, zero admits every line.
    explicit LinePace(std::optional<Duration> period) : period_(period) {}

    /// Returns whether the line that is due at `now` is to be written; then it counts as written.
    bool admits(TimePoint now) {
        const bool each = !period_ && written_ < kEach;
        if (!each && newest_ && now - *newest_ < period_.value_or(kUsual)) {
            return false;
        }
        newest_ = now;
        ++written_;
        return true;
    }

 private:
    std::optional<Duration> period_;
    std::optional<TimePoint> newest_;  // when the newest line was written
    std::uint32_t written_ = 0;
};

}  // namespace swarm::cli
