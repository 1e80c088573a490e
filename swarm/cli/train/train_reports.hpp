// The ways that a report of a run takes: to the screen, into --json and the run's folder, and to
// the process that started this one.
// Threading: one thread. Errors: a starter that no longer reads its reports is ignored.
#pragma once

#include "swarm/cli/common/progress.hpp"
#include "swarm/cli/common/run_report.hpp"
#include "swarm/cli/metrics/metrics_files.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/cli/train/train.hpp"
#include "swarm/cli/web/run_state.hpp"
#include "swarm/run/training/held_out.hpp"

#include <filesystem>
#include <span>
#include <string>

namespace swarm::cli {

/// Adds the names of the texts, their sizes and what follows from these.
HeldOutFound describe(
    const run::RunConfig& config,
    std::span<const run::HeldOutText> texts,
    const run::HeldOutLosses& losses
);

class TrainReports {
 public:
    /// `folder`: that of the run.
    TrainReports(
        Console& console,
        const TrainOptions& options,
        const run::RunConfig& config,
        const std::filesystem::path& folder
    );

    void add(const TrainReport& report);

    [[nodiscard]] Console& console() { return console_; }

    [[nodiscard]] const RunState& state() const { return state_; }

    /// Writes --json and one line of results to stdout. False when the file cannot be written.
    [[nodiscard]] bool finish();

 private:
    Console& console_;
    std::string json_file_;
    int reports_fd_;
    Progress progress_;
    RunReport gathered_;
    MetricsFiles metrics_;
    RunState state_;
};

}  // namespace swarm::cli
