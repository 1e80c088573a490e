// Mean of the known rates: the guess for a peer that was never measured, so that it is tried soon
// but not flooded. The mean is one unit per second while no rate is known.
// Threading: single strand. Cost: O(1).
#pragma once

#include <cstddef>

namespace router {

class MeanRate {
 public:
    /// A rate of zero means: not known.
    void replace(double old_rate, double new_rate) {
        sum_ += new_rate - old_rate;
        known_ += static_cast<std::size_t>(new_rate > 0);
        known_ -= static_cast<std::size_t>(old_rate > 0);
        if (known_ == 0) {
            sum_ = 0;  // drops the remainder of rounding
        }
    }

    [[nodiscard]] bool known() const { return known_ > 0; }

    [[nodiscard]] double value() const {
        return known_ > 0 && sum_ > 0 ? sum_ / static_cast<double>(known_) : 1.0;
    }

 private:
    double sum_ = 0;
    std::size_t known_ = 0;
};

}  // namespace router
