// The thread on which hosts live: turns of roles, sockets and timers, one after the other. Hides
// Asio from those who only want to run a host.
// Threading: all calls on the one thread that runs the loop, but post(), from any thread.
#pragma once

#include "swarm/base/units.hpp"

#include <functional>
#include <memory>

namespace boost::asio {
class io_context;
}  // namespace boost::asio

namespace swarm::net {

class EventLoop {
 public:
    EventLoop();
    EventLoop(const EventLoop&) = delete;
    EventLoop& operator=(const EventLoop&) = delete;
    ~EventLoop();

    /// Runs until `done`, looked at after each event.
    void run_until(const std::function<bool()>& done);
    /// False when `done` is still false after `patience`.
    [[nodiscard]] bool run_until(const std::function<bool()>& done, Duration patience);

    void post(std::function<void()> action);

    /// From now on SIGINT and SIGTERM come here, on the loop's thread, and end nothing by
    /// themselves.
    void on_signal(std::function<void(int)> action);

    [[nodiscard]] boost::asio::io_context& io();

 private:
    struct Core;
    std::unique_ptr<Core> core_;
};

}  // namespace swarm::net
