// Price of one more row in a call of the device: the time that it adds to the call, times the
// tokens that all texts which wait for the call would make of that time. A guess pays where the
// chance that it is right is more than its price over the time of a frame (guesses.hpp). The times
// of a client's own frames do not tell it, because the rows of all others are in them.
// The time of a call is taken to be a + b x rows, and b is the slope of the least squares over the
// last calls, of which about twenty weigh most.
// Invariant: never negative; 0 until calls of different size were seen.
// Threading: single strand. Cost: O(1). Source: own.
#pragma once

#include "swarm/base/units.hpp"

#include <algorithm>
#include <cstdint>

namespace stacking::sessions {

class RowPrice {
 public:
    /// Takes the time of a call that computed tokens.
    void add(double rows, swarm::Duration took) {
        const double s = swarm::in_seconds(took);
        for (double* const sum : {&calls_, &rows_, &squares_, &seconds_, &products_}) {
            *sum *= kKept;
        }
        calls_ += 1;
        rows_ += rows;
        squares_ += rows * rows;
        seconds_ += s;
        products_ += rows * s;
    }

    /// Takes how many tokens a frame has made.
    void made(std::uint32_t tokens) { made_ += (1 - kKept) * (tokens - made_); }

    /// Microseconds where so many texts wait for a call or were in it.
    [[nodiscard]] std::uint32_t us(std::size_t texts) const {
        const double spread = calls_ * squares_ - rows_ * rows_;
        if (spread < kSpreadLeast * calls_ * calls_) {
            return 0;
        }
        const double slope_s = (calls_ * products_ - rows_ * seconds_) / spread;
        const double price_us = 1e6 * slope_s * made_ * static_cast<double>(texts);
        return static_cast<std::uint32_t>(std::clamp(price_us, 0.0, kMost_us));
    }

 private:
    static constexpr double kKept = 0.95;  // part of the old sums that each call keeps
    static constexpr double kSpreadLeast =
        0.05;  // variance of the rows below which nothing is said
    static constexpr double kMost_us = 1e8;

    double calls_ = 0;
    double rows_ = 0;
    double squares_ = 0;
    double seconds_ = 0;
    double products_ = 0;
    double made_ = 1;  // mean of the tokens of a frame
};

}  // namespace stacking::sessions
