// A simulated accelerator: jobs run one at a time, in order, and take work units / speed.
// A job's time is fixed when the job starts: a later change of speed counts from the next job on.
// Units: work units as in node::Job, seconds. Whole nanoseconds, without a fused multiply-add, so
// that every compiler comes to the same time. A job takes kLongestJob at most, which is longer than
// any run, plus the time that is added to the job.
#pragma once

#include "swarm/base/rng.hpp"
#include "swarm/base/units.hpp"
#include "swarm/node/action.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <utility>

namespace sim {

using swarm::Duration;
using swarm::TimePoint;

inline constexpr Duration kLongestJob = std::chrono::hours(24 * 366 * 4);

struct DeviceOptions {
    double units_per_s = 0;  // 0: work takes no time but the overhead
    Duration overhead{};     // added to every job
    double jitter = 0;       // a job takes up to this fraction longer, drawn per job
};

class Device {
 public:
    Device(DeviceOptions options, swarm::Rng rng) : options_(options), rng_(rng) {}

    void set_speed(double units_per_s) { options_.units_per_s = units_per_s; }

    /// The next `jobs` jobs to start take `extra` longer.
    void stall(Duration extra, std::uint32_t jobs) {
        stall_ = extra;
        stalled_jobs_ = jobs;
    }

    void add(swarm::node::Compute asked) { waiting_.push_back(std::move(asked)); }

    [[nodiscard]] bool is_busy() const { return busy_; }

    [[nodiscard]] bool can_start() const { return !busy_ && !waiting_.empty(); }

    [[nodiscard]] const swarm::node::Compute& running() const { return waiting_.front(); }

    /// The time at which the running job will be done.
    [[nodiscard]] TimePoint done_at() const { return done_at_; }

    void start_next(TimePoint now, Duration extra) {
        busy_ = true;
        started_at_ = now;
        stood_still_ = {};
        done_at_ = now + time_for(waiting_.front().work->work_units()) + extra + next_stall();
    }

    /// Ends the running job, which the caller runs; `took` counts the time it stood still.
    std::pair<swarm::node::Compute, Duration> finish(TimePoint now) {
        busy_ = false;
        worked_ += now - started_at_ - stood_still_;
        swarm::node::Compute done = std::move(waiting_.front());
        units_done_ += done.work->work_units();
        waiting_.pop_front();
        return {std::move(done), now - started_at_};
    }

    void stand_still(Duration duration) {
        done_at_ += duration;
        stood_still_ += duration;
    }

    /// Time spent on jobs that ended, without the time that the device stood still.
    [[nodiscard]] Duration worked() const { return worked_; }

    /// Work units of the jobs that ended.
    [[nodiscard]] double units_done() const { return units_done_; }

    /// Drops all jobs, since the process is gone.
    void crash() {
        waiting_.clear();
        busy_ = false;
    }

 private:
    [[nodiscard]] Duration time_for(double work_units) {
        double work_ns = 0;
        if (options_.units_per_s > 0) {
            work_ns = in_range(work_units / options_.units_per_s * 1e9);
        }
        Duration time(std::llround(work_ns));
        const auto spread =
            static_cast<std::uint64_t>(std::llround(in_range(work_ns * options_.jitter)));
        if (spread > 0) {
            time += Duration(rng_.below(spread + 1));
        }
        return time + options_.overhead;
    }

    static double in_range(double ns) {
        return std::min(ns, static_cast<double>(kLongestJob.count()));
    }

    [[nodiscard]] Duration next_stall() {
        if (stalled_jobs_ == 0) {
            return {};
        }
        --stalled_jobs_;
        return stall_;
    }

    DeviceOptions options_;
    swarm::Rng rng_;
    std::deque<swarm::node::Compute> waiting_;  // the front job runs while the device is busy
    bool busy_ = false;
    TimePoint started_at_{};
    TimePoint done_at_{};
    Duration stood_still_{};  // the running job's
    Duration worked_{};
    double units_done_ = 0;
    Duration stall_{};
    std::uint32_t stalled_jobs_ = 0;
};

}  // namespace sim
