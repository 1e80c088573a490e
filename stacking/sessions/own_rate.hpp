// Rows a second that a device computes, from the calls it has done: their rows over their time, the
// last twenty or so weighing most. Waiting for rows is no part of it: it is what the device can do,
// not what is asked of it. Larger batches take less time a row, so a peer in use says more.
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
    static constexpr double kKept = 0.95;  // of what was known, at each call

    double rows_ = 0;
    double seconds_ = 0;
};

}  // namespace stacking::sessions
