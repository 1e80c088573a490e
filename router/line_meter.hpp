// Measures the rate of a line, seen by the sender of tensors, which hears when each tensor was
// accepted.
// A line is measured over whole busy periods, from the first tensor that leaves an idle line until
// all have been accepted, and the best of the last windows counts, because a period with few bytes
// is mostly delay. A line with a long delay and little to do therefore looks slower than it is.
// Threading: single strand. Cost: a few numbers; no memory that grows.
#pragma once

#include "swarm/base/units.hpp"

#include <chrono>
#include <cstdint>

namespace router {

/// One direction of a peer's line. A tensor that was under way when the meter's user began anew, or
/// lost something, counts for nothing, also when it arrives later: a busy period would seem to be
/// over too early.
class LineMeter {
 public:
    enum class Generation : std::uint32_t {};

    /// A measurement counts for at least one such window, and for at most two.
    explicit LineMeter(swarm::Duration window = std::chrono::seconds(15)) : window_(window) {}

    /// Returns the generation that arrived() is to be told.
    [[nodiscard]] Generation sent(swarm::TimePoint now) {
        if (under_way_++ == 0) {
            began_ = now;
            bytes_ = 0;
        }
        return Generation{generation_};
    }

    void arrived(std::uint64_t bytes, Generation sent_in, swarm::TimePoint now);

    void forget_what_is_under_way() {
        under_way_ = 0;
        ++generation_;
    }

    /// Returns 0 when the line was not measured lately.
    [[nodiscard]] double bytes_per_s(swarm::TimePoint now);

 private:
    static constexpr std::uint64_t kBytesMin = 64 << 10;

    void turn_windows(swarm::TimePoint now);

    swarm::Duration window_;
    std::uint32_t under_way_ = 0;
    std::uint32_t generation_ = 0;
    std::uint64_t bytes_ = 0;
    swarm::TimePoint began_{};
    swarm::TimePoint window_began_{};
    double best_ = 0;         // in this window
    double best_before_ = 0;  // in the window before
};

}  // namespace router
