// What the verbs of the simulator share: a scenario with its flags, runs with progress and ETA on
// stderr that Ctrl-C ends early, and the files that are left behind.
// Invariant: after the first SIGINT or SIGTERM a run ends at its next progress call and its report
// is whole; the second signal ends the program at once.
// Threading: one thread; the signal handler only stores a number. One session per process.
#pragma once

#include "sim/run/scenario_run.hpp"
#include "swarm/base/result.hpp"
#include "swarm/cli/console.hpp"
#include "swarm/cli/options.hpp"

#include <string>
#include <vector>

namespace swarm::cli {

/// Flag over file.
Result<sim::Scenario> load(const SimFlags& flags);

class SimSession {
 public:
    /// `runs`: so many will follow; the ETA is that of all of them.
    SimSession(Console& console, std::size_t runs);
    SimSession(const SimSession&) = delete;
    SimSession& operator=(const SimSession&) = delete;
    ~SimSession();

    /// `options`: exact mode only; their `progress` is the session's.
    Result<sim::SimReport> run(
        const sim::Scenario& scenario,
        std::uint64_t seed,
        const std::string& label,
        sim::ExactOptions options = {}
    );

    [[nodiscard]] bool interrupted() const;

    /// kDone, kRunFailed when a report has violations or a failure, or after_signal(): that of all
    /// reports.
    [[nodiscard]] int exit_code(const std::vector<sim::SimReport>& reports) const;

 private:
    bool show_progress(double share, const std::string& label);

    Console& console_;
    std::size_t runs_;
    std::size_t done_ = 0;
    TimePoint started_;
    TimePoint shown_;
};

/// One object, or an array when there are several.
std::string json_of(const std::vector<sim::SimReport>& reports);

}  // namespace swarm::cli
