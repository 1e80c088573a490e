// One direction of a peer's access line: frames share its rate, one after the other per lane.
// Invariant: work-conserving; control goes first and interrupts a bulk frame, as packets of two
// connections mix; the bulk frame then takes that much longer.
// Units: bytes, bytes per second; 0: unlimited. Cost: O(1), drop_if O(frames queued).
#pragma once

#include "swarm/base/units.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

namespace sim {

using swarm::Duration;
using swarm::TimePoint;

class Pipe {
 public:
    explicit Pipe(std::uint64_t bytes_per_s) : bytes_per_s_(bytes_per_s) {}

    /// Frames that are being carried keep their time.
    void set_rate(std::uint64_t bytes_per_s) { bytes_per_s_ = bytes_per_s; }

    /// Nothing waits in it and nothing ever will.
    [[nodiscard]] bool is_open(TimePoint now) const {
        return bytes_per_s_ == 0 && bulk_.empty() && control_free_at_ <= now;
    }

    /// When a control frame that comes now is through.
    TimePoint pass_control(std::uint64_t bytes, TimePoint now) {
        const Duration carrying = time_for(bytes);
        control_free_at_ = std::max(control_free_at_, now) + carrying;
        bulk_done_at_ += carrying;
        return control_free_at_;
    }

    void add_bulk(std::uint32_t frame, std::uint64_t bytes, TimePoint now) {
        bulk_.push_back({frame, bytes});
        if (bulk_.size() == 1) {
            start_bulk(now);
        }
    }

    /// When the first bulk frame will be through, as far as known now.
    [[nodiscard]] TimePoint bulk_done_at() const {
        return bulk_.empty() ? swarm::kNever : bulk_done_at_;
    }

    /// The first bulk frame is through.
    std::uint32_t take_bulk(TimePoint now) {
        const std::uint32_t frame = bulk_.front().frame;
        bulk_.pop_front();
        start_bulk(now);
        return frame;
    }

    /// Forgets the bulk frames for which `is_lost(frame)`.
    template <class IsLost>
    void drop_bulk_if(TimePoint now, IsLost is_lost) {
        if (bulk_.empty()) {
            return;
        }
        const std::uint32_t first = bulk_.front().frame;
        std::erase_if(bulk_, [&](const Queued& queued) { return is_lost(queued.frame); });
        if (!bulk_.empty() && bulk_.front().frame != first) {
            start_bulk(now);
        }
    }

    TimePoint armed_for = swarm::kNever;  // the world looks at it then

 private:
    struct Queued {
        std::uint32_t frame;
        std::uint64_t bytes;
    };

    // In two parts: bytes x 10^9 overflows above 18 GB.
    [[nodiscard]] Duration time_for(std::uint64_t bytes) const {
        if (bytes_per_s_ == 0) {
            return {};
        }
        constexpr std::uint64_t kNsPerS = 1'000'000'000;
        const std::uint64_t whole_s = bytes / bytes_per_s_;
        const std::uint64_t rest = bytes % bytes_per_s_;
        return Duration(whole_s * kNsPerS + rest * kNsPerS / bytes_per_s_);
    }

    void start_bulk(TimePoint now) {
        if (!bulk_.empty()) {
            bulk_done_at_ = std::max(control_free_at_, now) + time_for(bulk_.front().bytes);
        }
    }

    std::uint64_t bytes_per_s_;
    TimePoint control_free_at_{};
    TimePoint bulk_done_at_{};
    std::deque<Queued> bulk_;
};

}  // namespace sim
