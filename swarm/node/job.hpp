// A job is work for the peer's device, which a Compute action carries. The role keeps the object
// and reads its outcome after Computed; between the two only the device's thread touches the
// object. The jobs of one peer run one at a time, in the order of their Compute actions.
#pragma once

namespace swarm::node {

class Job {
 public:
    Job() = default;
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;
    virtual ~Job() = default;

    /// Runs on the device's thread. Never throws: the job itself keeps the error of a failed run.
    virtual void run() = 0;

    /// Returns the cost in work units (tokens x layers; a backward counts 2); 0 for bookkeeping. A
    /// simulated device takes time in proportion to it, and `--service-ms` slows a real device down
    /// by it; otherwise a real device takes its own time.
    [[nodiscard]] virtual double work_units() const = 0;
};

}  // namespace swarm::node
