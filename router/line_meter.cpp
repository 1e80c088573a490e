#include "router/line_meter.hpp"

#include <algorithm>

namespace router {

void LineMeter::turn_windows(swarm::TimePoint now) {
    if (now < window_began_ + window_) {
        return;
    }
    best_before_ = now < window_began_ + 2 * window_ ? best_ : 0;
    best_ = 0;
    window_began_ = now;
}

void LineMeter::arrived(std::uint64_t bytes, Generation sent_in, swarm::TimePoint now) {
    if (sent_in != Generation{generation_} || under_way_ == 0) {
        return;  // a tensor that the meter has forgotten
    }
    bytes_ += bytes;
    if (--under_way_ == 0 && bytes_ >= kBytesMin && now > began_) {
        turn_windows(now);
        const std::chrono::duration<double> busy = now - began_;
        best_ = std::max(best_, static_cast<double>(bytes_) / busy.count());
    }
}

double LineMeter::bytes_per_s(swarm::TimePoint now) {
    turn_windows(now);
    return std::max(best_, best_before_);
}

}  // namespace router
