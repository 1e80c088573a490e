#include "swarm/net/device/compute_pool.hpp"

#include <chrono>
#include <exception>
#include <new>
#include <utility>

namespace swarm::net {

using Steady = std::chrono::steady_clock;

ComputePool::ComputePool(Options options, Done done, Failed failed)
    : options_(std::move(options)),
      done_(std::move(done)),
      failed_(std::move(failed)),
      thread_([this] { run_jobs(); }) {}

ComputePool::~ComputePool() {
    shutdown();
    thread_.join();
}

void ComputePool::submit(node::Compute asked) {
    {
        const std::lock_guard lock(mutex_);
        waiting_.push_back(std::move(asked));
    }
    changed_.notify_one();
}

void ComputePool::shutdown() {
    std::deque<node::Compute> dropped;  // destroyed outside the lock
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
        dropped.swap(waiting_);
    }
    changed_.notify_one();
}

void ComputePool::run_jobs() {
    if (options_.on_thread_start) {
        options_.on_thread_start();
    }
    for (;;) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
        if (ending_) {
            return;
        }
        const node::Compute next = std::move(waiting_.front());
        waiting_.pop_front();
        lock.unlock();
        run(next);
    }
}

bool ComputePool::run_work(node::Job& work) {
    std::string reason;
    try {
        work.run();
        return true;
    } catch (const std::bad_alloc&) {
        reason = "this machine has no memory left for the work that it was given";
    } catch (const std::exception& failure) {  // a library's own error
        reason = failure.what();
        reason = "the device failed: " + reason.substr(0, reason.find('\n'));
    }
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    failed_(std::move(reason));
    return false;
}

void ComputePool::run(const node::Compute& next) {
    const auto asked = Steady::now();
    const SharedDevice::Turn turn(options_.device.get());
    const auto start = Steady::now();
    if (!run_work(*next.work)) {
        return;
    }
    const double services = next.work->work_units() / options_.units_per_service;
    const Duration hold(
        static_cast<Duration::rep>(static_cast<double>(options_.service.count()) * services)
    );
    {
        std::unique_lock lock(mutex_);
        if (hold > Duration::zero()) {  // even a wait until the past would sleep: 26 us per hop
            changed_.wait_until(lock, start + hold, [this] { return ending_; });
        }
        if (ending_) {
            return;
        }
    }
    if (next.answered) {
        done_(next.job, std::chrono::duration_cast<Duration>(Steady::now() - asked));
    }
}

}  // namespace swarm::net
