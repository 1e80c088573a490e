// The loop on which hosts live: one thread runs turns of roles, sockets and timers, one after the
// other. It hides Asio from programs that only run a host.
// Threading: all calls come from the thread that runs the loop; post() may come from any thread.
#pragma once

#include "swarm/base/units.hpp"

#include <chrono>
#include <cstddef>
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

    /// Runs until done() is true; the loop asks after each event.
    void run_until(const std::function<bool()>& done);
    /// Runs likewise for `patience` at most; returns false when done() is still false then.
    [[nodiscard]] bool run_until(const std::function<bool()>& done, Duration patience);

    /// Runs what is due now, and waits for nothing: for a thread that computes in between.
    void run_ready();

    void post(std::function<void()> action);

    /// Makes SIGINT and SIGTERM call `action` on the loop's thread, instead of ending the process.
    void on_signal(std::function<void(int)> action);

    /// From now on memory goes back to the system that was free at so many looks in a row, of which
    /// there is one each kIdleMemoryLooksEvery (see IdleMemory).
    void give_idle_memory_back(std::size_t looks);

    static constexpr Duration kIdleMemoryLooksEvery = std::chrono::milliseconds(2500);

    [[nodiscard]] boost::asio::io_context& io();

 private:
    struct Core;
    std::unique_ptr<Core> core_;
};

}  // namespace swarm::net
