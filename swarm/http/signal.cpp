#include "swarm/http/signal.hpp"

#include "swarm/net/as_tuple.hpp"

#include <algorithm>

namespace swarm::http {
namespace {

using Steady = std::chrono::steady_clock;

/// Some time to wait in place of kNever, of which no timer can be told.
constexpr auto kLong = std::chrono::hours(1);

}  // namespace

TimePoint clock_now() {
    return TimePoint(Steady::now().time_since_epoch());
}

void Signal::notify() {
    raised_ = true;
    timer_.cancel();
}

asio::awaitable<void> Signal::wait_until(TimePoint due) {
    if (!raised_) {
        const TimePoint wake_at = std::min(due, clock_now() + kLong);
        timer_.expires_at(Steady::time_point(wake_at.time_since_epoch()));
        co_await timer_.async_wait(net::kAsTuple);
    }
    raised_ = false;
}

}  // namespace swarm::http
