// Runs as their folders tell of them: run.toml and metrics.jsonl are read, and nothing is locked or
// written, so a run that trains does not notice.
// Invariant: a run whose files cannot be read is listed with its trouble and hides no other run.
// Threading: one thread; every call reads files. Errors: NotFound (no run), TooLarge (more than
// kRunsMax); Reject. Cost: the whole metrics.jsonl, about 250 bytes per step.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/cli/metrics/step_metrics.hpp"
#include "swarm/run/config.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace swarm::cli {

/// Runs in one list; a person reads no longer one.
inline constexpr std::size_t kRunsMax = 10'000;

enum class RunStanding : std::uint8_t {
    New,         // no step was committed
    Training,    // a process holds the folder's lock
    Stopped,     // `swarm train --resume` goes on with it
    Ended,       // by eval.patience; `--resume` goes on only with another one
    Done,        // all of its steps are made
    Unreadable,  // its files cannot be read
};

const char* to_text(RunStanding standing);

struct RunSummary {
    std::filesystem::path folder{};
    std::string name{};  // that of run.toml
    RunStanding standing = RunStanding::New;
    std::uint64_t step = 0;          // steps that are done
    std::uint64_t steps = 0;         // steps that are wanted
    std::optional<double> loss{};    // loss of the newest step that has one
    std::optional<double> held_out{};       // loss of the newest evaluation
    std::optional<double> best_held_out{};  // least loss of all of them
    std::uint64_t tokens = 0;        // tokens of the steps that changed the weights
    double changed_unix_time_s = 0;  // time of the last step, or else of run.toml
    std::string trouble{};           // why it is unreadable
};

/// Returns the folders that are runs, in the order of `named`: each itself, or the runs right below
/// it in the order of their names.
Result<std::vector<std::filesystem::path>> find_runs(const std::vector<std::string>& named);

/// The settings and the steps of a run.
struct RunFiles {
    run::RunConfig config{};
    std::vector<StepMetrics> steps{};  // empty: none was made
};

/// `named`: a run's folder, or that of `swarm local`.
Result<RunFiles> read_run_files(const std::filesystem::path& named);

RunSummary summarise_run(const std::filesystem::path& folder);

/// Lines of a table; `runs` are in its order.
std::string runs_table(const std::vector<RunSummary>& runs);
std::string runs_json(const std::vector<RunSummary>& runs);

}  // namespace swarm::cli
