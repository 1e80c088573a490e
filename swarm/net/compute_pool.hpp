// The peer's device: one thread that runs the jobs of its role, one at a time, in order.
// Service time: with `service` set, a job with work is held until service x (its work units /
// units_per_service) after its start, so that any machine can play a slower one. Bookkeeping jobs
// (no work units) are never held. Pools that share a device take turns, job by job.
// Threading: submit() and shutdown() from one thread; done() is called on the device's thread, for
// the jobs that are to be answered.
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/base/units.hpp"
#include "swarm/net/shared_device.hpp"
#include "swarm/node/action.hpp"

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace swarm::net {

class ComputePool {
 public:
    struct Options {
        std::function<void()> on_thread_start = {};  // for the device library's settings
        Duration service = Duration::zero();         // zero: jobs take what they take
        double units_per_service = 1;                // work units of a forward
        std::shared_ptr<SharedDevice> device = {};   // null: it has one to itself
    };

    /// `took`: with the wait for the device, as others of the machine use it.
    using Done = std::function<void(JobId, Duration took)>;

    ComputePool(Options options, Done done);
    ComputePool(const ComputePool&) = delete;
    ComputePool& operator=(const ComputePool&) = delete;
    /// Waits for the job that runs.
    ~ComputePool();

    void submit(node::Compute asked);
    /// Drops what waits and what is held; only a done() that has begun may still come.
    void shutdown();

 private:
    void run_jobs();
    void run(const node::Compute& next);

    Options options_;
    Done done_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<node::Compute> waiting_;
    bool ending_ = false;
    std::thread thread_;  // last: it uses all of the above
};

}  // namespace swarm::net
