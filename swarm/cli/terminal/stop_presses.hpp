// Tells the second Ctrl-C of a person from a signal that came twice: `timeout -s INT` signals the
// process and its group within microseconds. A verb ends in order at the first press, and at once
// at the next one.
// Invariant: signals less than kEcho after a press belong to that press.
// Threading: any thread, and signal handlers, because the state is one lock-free number.
#pragma once

#include "swarm/base/units.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>

namespace swarm::cli {

enum class StopPress : std::uint8_t { First, Echo, Next };

class StopPresses {
 public:
    static constexpr Duration kEcho = std::chrono::milliseconds(300);

    /// Takes a signal that came at `now` and says which press it is.
    StopPress note(TimePoint now) {
        const std::int64_t at = now.time_since_epoch().count();
        std::int64_t pressed = pressed_ns_.load();
        while (pressed == kNone || at - pressed >= kEcho.count()) {
            if (pressed_ns_.compare_exchange_weak(pressed, at)) {
                return pressed == kNone ? StopPress::First : StopPress::Next;
            }
        }
        return StopPress::Echo;
    }

 private:
    static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();

    std::atomic<std::int64_t> pressed_ns_{kNone};
    static_assert(std::atomic<std::int64_t>::is_always_lock_free);
};

}  // namespace swarm::cli
