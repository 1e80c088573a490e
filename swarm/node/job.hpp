// Work for the peer's device: what a Compute action carries. A role keeps the object and reads its
// outcome after Computed; between the two only the device's thread touches it.
// Jobs of one peer run one at a time, in the order of their Compute actions.
#pragma once

namespace swarm::node {

class Job {
 public:
    Job() = default;
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;
    virtual ~Job() = default;

    /// Runs on the device's thread. Never throws: an outcome that failed is part of the job.
    virtual void run() = 0;

    /// Cost in work units (tokens x layers; a backward counts 2); 0: bookkeeping. Simulated devices
    /// take time by it, and `--service-ms` holds jobs by it; real ones just run.
    [[nodiscard]] virtual double work_units() const = 0;
};

}  // namespace swarm::node
