// The last 64 durations of one kind of event, for deadlines that follow the measured p95.
// Threading: single strand. Cost: O(64) per duration. add() computes the percentile, because it is
// read at every event.
#pragma once

#include "swarm/base/units.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace swarm::coordinator {

class RecentTimes {
 public:
    void add(Duration took) {
        times_[count_ % times_.size()] = took;
        ++count_;
        std::array<Duration, kKept> sorted = times_;
        const std::size_t filled = std::min(count_, kKept);
        const std::size_t rank = (filled * 95 + 99) / 100 - 1;
        const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(filled);
        std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(rank), end);
        p95_ = sorted[rank];
        const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(filled / 2);
        std::nth_element(sorted.begin(), middle, end);
        p95_ = std::min(p95_, kMediansMax * *middle);
    }

    [[nodiscard]] bool empty() const { return count_ == 0; }

    /// Zero before the first duration. Three medians at most: some few that were held up on purpose
    /// do not make every deadline late.
    [[nodiscard]] Duration p95() const { return p95_; }

 private:
    static constexpr std::size_t kKept = 64;
    static constexpr int kMediansMax = 3;

    std::array<Duration, kKept> times_{};
    std::size_t count_ = 0;
    Duration p95_{};
};

}  // namespace swarm::coordinator
