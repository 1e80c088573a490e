// Lets the one coroutine that waits for several things sleep until one of them has happened.
// Invariant: no notice is lost: one that comes while nobody waits ends the next wait at once.
// Threading: single strand; one waiter at a time. Errors: none.
#pragma once

#include "swarm/base/units.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>

namespace swarm::http {

namespace asio = boost::asio;

TimePoint clock_now();

class Signal {
 public:
    explicit Signal(const asio::any_io_executor& executor) : timer_(executor) {}

    void notify();
    /// Waits for a notice until `due` at most; a wait may also end early for no reason.
    asio::awaitable<void> wait_until(TimePoint due);

 private:
    asio::steady_timer timer_;
    bool raised_ = false;
};

}  // namespace swarm::http
