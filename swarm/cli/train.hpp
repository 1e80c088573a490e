// What the two ways to train share: the open run and where its reports go.
// Threading: one thread. Errors: a starter that no longer reads its reports is not one.
#pragma once

#include "swarm/cli/console.hpp"
#include "swarm/cli/options.hpp"
#include "swarm/cli/run_choices.hpp"
#include "swarm/cli/run_directory.hpp"
#include "swarm/cli/run_report.hpp"
#include "swarm/run/batch_plan.hpp"

#include <string>

namespace swarm::cli {

/// After the line about a disk that failed. What was committed is in the log.
inline constexpr const char* kGoOn =
    "; then go on with --resume: nothing that was committed is lost";

/// Sends each report to the screen, into --json and to the process that started this one.
class TrainReports {
 public:
    TrainReports(Console& console, const TrainOptions& options, const run::RunConfig& config);

    void add(const TrainReport& report);

    [[nodiscard]] RunReport& gathered() { return gathered_; }

    [[nodiscard]] Console& console() { return console_; }

    /// Writes --json and one line of results to stdout. False when the file cannot be written.
    [[nodiscard]] bool finish();

 private:
    Console& console_;
    std::string json_file_;
    int reports_fd_;
    Progress progress_;
    RunReport gathered_;
};

/// Prints the line and says how to end.
int end_with(Console& console, const Error& error);

/// Writes the whole text; false, with a line, when that fails.
bool write_text(Console& console, const std::string& file, const std::string& text);

TimePoint clock_now();

int coordinate(
    const TrainOptions& options, RunDirectory directory, const run::Corpus& corpus, Console& console
);
int train_single(
    const TrainOptions& options,
    RunDirectory directory,
    const RunChoices& choices,
    run::Corpus corpus,
    Console& console
);

}  // namespace swarm::cli
