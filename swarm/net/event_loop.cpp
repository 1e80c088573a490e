#include "swarm/net/event_loop.hpp"

#include "swarm/base/idle_memory.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <csignal>
#include <utility>

namespace swarm::net {

namespace asio = boost::asio;

struct EventLoop::Core {
    void await_signal() {
        signals.async_wait([this](const boost::system::error_code& error, int number) {
            if (!error) {
                on_signal(number);
                await_signal();
            }
        });
    }

    void look_at_memory() {
        memory_timer.expires_after(kIdleMemoryLooksEvery);
        memory_timer.async_wait([this](const boost::system::error_code& error) {
            if (error) {
                return;
            }
            if (memory.note(free_heap_bytes())) {
                give_memory_back();
            }
            look_at_memory();
        });
    }

    asio::io_context io{1};
    // Keeps the loop running while it waits for nothing but work of another thread.
    asio::executor_work_guard<asio::io_context::executor_type> guard{io.get_executor()};
    asio::signal_set signals{io};
    std::function<void(int)> on_signal;
    asio::steady_timer memory_timer{io};
    IdleMemory memory;
};

EventLoop::EventLoop() : core_(std::make_unique<Core>()) {}

EventLoop::~EventLoop() = default;

void EventLoop::run_until(const std::function<bool()>& done) {
    while (!done()) {
        core_->io.run_one();
    }
}

bool EventLoop::run_until(const std::function<bool()>& done, Duration patience) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!done()) {
        if (core_->io.run_one_until(end) == 0) {
            return done();
        }
    }
    return true;
}

void EventLoop::run_ready() {
    core_->io.poll();
}

void EventLoop::post(std::function<void()> action) {
    asio::post(core_->io, std::move(action));
}

void EventLoop::on_signal(std::function<void(int)> action) {
    core_->on_signal = std::move(action);
    core_->signals.cancel();
    core_->signals.clear();
    core_->signals.add(SIGINT);
    core_->signals.add(SIGTERM);
    core_->await_signal();
}

void EventLoop::give_idle_memory_back(std::size_t looks) {
    core_->memory = IdleMemory(looks);
    core_->look_at_memory();
}

asio::io_context& EventLoop::io() {
    return core_->io;
}

}  // namespace swarm::net
