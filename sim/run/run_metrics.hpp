// Watches an exact run and makes its report: samples over time, and the totals at the end.
// Utilisation is busy time of devices over the time their machines were up; a job counts when it
// ends. Lost work is work that was computed and that no commit counted.
// Threading: none. Cost: O(peers) per sample.
#pragma once

#include "sim/report/sim_report.hpp"
#include "sim/run/fleet.hpp"

#include <vector>

namespace sim {

class RunMetrics {
 public:
    /// All arguments outlive the object.
    RunMetrics(const Scenario& scenario, RunWorld& run, const Fleet& fleet);

    [[nodiscard]] TimePoint next_sample() const { return next_sample_; }

    void take_sample();
    /// Takes a sample at the end, unless one was just taken: the time since the last sample counts,
    /// too.
    void take_last_sample();

    /// The report, in which the caller fills seed, interrupted and violations.
    [[nodiscard]] SimReport report() const;

 private:
    /// Use of one stage; peers without a stage count only in the total.
    struct Use {
        Duration busy{};
        Duration up{};
    };

    [[nodiscard]] std::uint64_t bytes() const;
    [[nodiscard]] std::vector<PeerShare> shares() const;

    const Scenario& scenario_;
    RunWorld& run_;
    const Fleet& fleet_;
    Duration sample_every_;
    TimePoint next_sample_;
    std::vector<Use> by_peer_;   // at the last sample, by number - 1
    std::vector<Use> by_stage_;  // summed over the samples
    std::vector<Sample> samples_;
};

}  // namespace sim
