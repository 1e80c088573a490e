// How long calls of the device take, and how much longer than they could. Where others compute on
// the same machine, such as further peers, all calls are slow, and a call that waits for more
// tokens leaves the machine to them.
// A call could take the least time that was seen for as many rows or more. This time grows a little
// with each call, because calls take longer as texts grow.
// Invariant: all times are at least 0, and 0 until a call was seen. Threading: single strand.
// Cost: O(protocol::kSessionBatchMax). Source: own.
#pragma once

#include "swarm/base/units.hpp"
#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

namespace stacking::sessions {

class CallPace {
 public:
    CallPace() { least_s_.fill(kUnseen); }

    /// Takes the time of a call that computed tokens.
    void add(std::size_t rows, swarm::Duration took) {
        const auto same =
            least_s_.begin() + static_cast<std::ptrdiff_t>(std::min(rows, least_s_.size() - 1));
        const double took_s = swarm::in_seconds(took);
        *same = std::min(*same * kForget, took_s);
        const double could_s = *std::min_element(same, least_s_.end());
        const double slow_s = std::clamp(took_s - kChance * could_s, 0.0, kSlowMost * could_s);
        slow_s_ += (slow_s > slow_s_ ? kSlowerWeight : kFasterWeight) * (slow_s - slow_s_);
    }

    /// Returns the seconds of the shortest call.
    [[nodiscard]] double shortest_s() const {
        const double least_s = *std::ranges::min_element(least_s_);
        return least_s == kUnseen ? 0 : least_s;
    }

    /// Returns the part of the shortest call that does not grow with rows, such as reading weights:
    /// what is saved where two calls become one. 1 until calls of different size were seen.
    [[nodiscard]] double saved_part() const {
        const auto seen = [](double s) { return s != kUnseen; };
        const auto few = std::ranges::find_if(least_s_, seen);
        const auto many = std::find_if(least_s_.rbegin(), least_s_.rend(), seen).base() - 1;
        if (few >= many || shortest_s() <= 0) {
            return 1;
        }
        const double rows = static_cast<double>(few - least_s_.begin());
        const double row_s = (*many - shortest_s()) / static_cast<double>(many - few);
        return std::clamp(1 - rows * row_s / shortest_s(), 0.0, 1.0);
    }

    /// Returns the seconds that calls take longer than they could.
    [[nodiscard]] double slow_s() const { return slow_s_; }

 private:
    static constexpr double kUnseen = std::numeric_limits<double>::infinity();
    static constexpr double kForget = 1.002;  // the least time grows so with each call
    static constexpr double kChance = 1.25;   // calls differ so much by chance
    static constexpr double kSlowMost = 2;    // a call is no slower than this, as after a freeze
    static constexpr double kSlowerWeight = 0.3;
    static constexpr double kFasterWeight = 0.03;

    std::array<double, swarm::protocol::kSessionBatchMax + 1> least_s_{};  // by rows
    double slow_s_ = 0;
};

}  // namespace stacking::sessions
