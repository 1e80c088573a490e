// Rows per second that a device computes: the rows of its calls over the time of these calls; about
// the last twenty calls weigh most. Time without rows does not count: the rate is that of the
// device, not of the demand. Larger batches take less time per row, so a busy peer reports a higher
// rate.
// Invariant: finite and at most protocol::kRowsPerSMax; 0 before the first call that took time.
// Threading: single strand. Cost: O(1).
#pragma once

#include "swarm/base/units.hpp"
#include "swarm/protocol/limits.hpp"

#include <algorithm>

namespace stacking::sessions {

class OwnRate {
 public:
    void add(double rows, swarm::Duration took) {
        rows_ = kKept * rows_ + rows;
        seconds_ = kKept * seconds_ + std::chrono::duration<double>(took).count();
    }

    [[nodiscard]] double rows_per_s() const {
        return seconds_ > 0 ? std::min(rows_ / seconds_, swarm::protocol::kRowsPerSMax) : 0;
    }

 private:
    static constexpr double kKept = 0.95;  // part of the old sums that each call keeps

    double rows_ = 0;
    double seconds_ = 0;
};

}  // namespace stacking::sessions
