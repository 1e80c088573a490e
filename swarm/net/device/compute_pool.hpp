// The peer's device: one thread that runs the jobs of the peer's role, one at a time and in order.
// Service time: with `service` set, a job with work units is held until service x (work units /
// units_per_service) has passed since its start, so that any machine can play a slower one. A
// bookkeeping job (no work units) is never held. Pools that share a device take turns, job by job.
// Threading: submit() and shutdown() are called from one thread. The device's thread calls done(),
// for jobs with `answered` only, and failed().
// Errors: a job that throws, mostly for lack of memory, is the last one: failed() gets the reason.
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/base/units.hpp"
#include "swarm/net/device/shared_device.hpp"
#include "swarm/node/action.hpp"

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace swarm::net {

class ComputePool {
 public:
    struct Options {
        std::function<void()> on_thread_start = {};  // for the device library's settings
        Duration service = Duration::zero();         // zero holds no job
        double units_per_service = 1;                // work units of a forward
        std::shared_ptr<SharedDevice> device = {};   // null: the pool has a device to itself
    };

    /// `took` includes the time in which other pools of the machine used the device.
    using Done = std::function<void(JobId, Duration took)>;

    /// Gets one line: what the device lacks.
    using Failed = std::function<void(std::string)>;

    ComputePool(Options options, Done done, Failed failed);
    ComputePool(const ComputePool&) = delete;
    ComputePool& operator=(const ComputePool&) = delete;
    /// Waits for the end of the job that runs.
    ~ComputePool();

    void submit(node::Compute asked);
    /// Drops the jobs that wait and the answer of the job that runs or is held. Only a done() that
    /// has begun may still come.
    void shutdown();

 private:
    void run_jobs();
    void run(const node::Compute& next);
    /// Returns false when the job threw.
    bool run_work(node::Job& work);

    Options options_;
    Done done_;
    Failed failed_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<node::Compute> waiting_;
    bool ending_ = false;
    std::thread thread_;  // last, because it uses all members above
};

}  // namespace swarm::net
