// The parts that the verbs of the simulator share: a scenario with its flags, runs with progress
// and ETA on stderr, which Ctrl-C ends early, and the text of --json.
// Invariant: after the first SIGINT or SIGTERM a run ends at its next progress call and its report
// is whole; the second signal ends the program at once.
// Threading: one thread; the signal handler only stores a number. One session per process.
#pragma once

#include "sim/run/scenario_run.hpp"
#include "swarm/base/result.hpp"
#include "swarm/cli/sim/sim.hpp"
#include "swarm/cli/terminal/console.hpp"

#include <string>
#include <vector>

namespace swarm::cli {

/// Loads the scenario; a flag goes before the file.
Result<sim::Scenario> load(const SimFlags& flags);

class SimSession {
 public:
    /// `runs`: number of runs that follow; the ETA is that of all of them.
    SimSession(Console& console, std::size_t runs);
    SimSession(const SimSession&) = delete;
    SimSession& operator=(const SimSession&) = delete;
    ~SimSession();

    /// `options`: for the exact mode only; the session sets their `progress`.
    Result<sim::SimReport> run(
        const sim::Scenario& scenario,
        std::uint64_t seed,
        const std::string& label,
        sim::ExactOptions options = {}
    );

    [[nodiscard]] bool interrupted() const;

    /// Returns the exit code of all reports: after_signal(), or kRunFailed when a report has
    /// violations or a failure, or kDone.
    [[nodiscard]] int exit_code(const std::vector<sim::SimReport>& reports) const;

 private:
    bool show_progress(double share, const std::string& label);

    Console& console_;
    std::size_t runs_;
    std::size_t done_ = 0;
    TimePoint started_;
    TimePoint shown_;
};

/// Returns one object, or an array when there are several reports.
std::string json_of(const std::vector<sim::SimReport>& reports);

}  // namespace swarm::cli
