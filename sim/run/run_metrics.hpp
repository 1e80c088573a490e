// Watches an exact run and makes its report: samples over time, and the totals at the end.
// Utilisation is busy time of devices over the time their machines were up; a job counts when it
// ends. Work is lost when it was computed and no commit counted it.
// Threading: none. Cost: O(peers) per sample.
#pragma once

#include "sim/report/sim_report.hpp"
#include "sim/run/fleet.hpp"

#include <vector>

namespace sim {

class RunMetrics {
 public:
    /// All outlive it.
    RunMetrics(const Scenario& scenario, RunWorld& run, const Fleet& fleet);

    [[nodiscard]] TimePoint next_sample() const { return next_sample_; }

    void take_sample();
    /// At the end, unless one was just taken: what came after the last one counts, too.
    void take_last_sample();

    /// seed, interrupted and violations are the caller's.
    [[nodiscard]] SimReport report() const;

 private:
    /// Of one stage; peers without one count nowhere but in the total.
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
