#include "swarm/cli/runs/run_summary.hpp"

#include "swarm/base/try.hpp"
#include "swarm/cli/common/files.hpp"
#include "swarm/cli/metrics/metrics_files.hpp"
#include "swarm/cli/setup/run_setup.hpp"
#include "swarm/cli/terminal/printable.hpp"
#include "swarm/cli/terminal/text_table.hpp"
#include "swarm/cli/train/patience_end.hpp"
#include "swarm/protocol/limits.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <sys/stat.h>
#include <system_error>
#include <utility>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::uint64_t kStepFiguresBytesMax = std::uint64_t{4} << 30;
constexpr double kTokensOfAStepMax = 1e15;
/// Name of the run's folder in that of `swarm local --dir`.
constexpr const char* kLocalRunName = "run";

/// Name of the lock in a folder that a process of a run writes to (swarm/net/file_store.cpp).
constexpr const char* kRunLockName = "lock";
/// Lines of /proc/locks that are read.
constexpr int kLocksMax = 100'000;

/// Returns the folder of the run itself: `swarm local` keeps it in a folder of its own, below the
/// run file that it has read.
fs::path run_in(const fs::path& folder) {
    std::error_code ignored;
    const fs::path inner = folder / kLocalRunName;
    return fs::is_regular_file(inner / kRunFileName, ignored) ? inner : folder;
}

bool is_run(const fs::path& folder) {
    std::error_code ignored;
    return fs::is_regular_file(folder / kRunFileName, ignored);
}

Error no_runs(ErrorCode code, const fs::path& folder, const std::string& why) {
    return {code, Reaction::Reject, folder.string() + ": " + why};
}

Result<> add_runs_below(const fs::path& folder, std::vector<fs::path>& found) {
    std::error_code error;
    std::vector<fs::path> below;
    fs::directory_iterator entry(folder, error);
    for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
        if (const fs::path run = run_in(entry->path()); is_run(run)) {
            below.push_back(run);
        }
        if (found.size() + below.size() > kRunsMax) {
            return no_runs(
                ErrorCode::TooLarge, folder, "more than " + std::to_string(kRunsMax) + " runs"
            );
        }
    }
    if (error) {
        return no_runs(ErrorCode::NotFound, folder, "cannot read it: " + error.message());
    }
    if (below.empty()) {
        return no_runs(
            ErrorCode::NotFound, folder, "is no run and has none; name the folder of some runs"
        );
    }
    std::ranges::sort(below);
    found.insert(found.end(), below.begin(), below.end());
    return {};
}

/// Whether a process holds the lock of the folder. To try the lock could end a run that begins.
bool is_locked(const fs::path& folder) {
    struct stat status {};

    if (::stat((folder / kRunLockName).c_str(), &status) != 0) {
        return false;
    }
    const std::string file = ":" + std::to_string(status.st_ino) + " ";
    std::ifstream locks("/proc/locks");
    std::string line;
    for (int i = 0; i < kLocksMax && std::getline(locks, line); ++i) {
        if (line.find(" FLOCK ") != std::string::npos && line.find(file) != std::string::npos) {
            return true;
        }
    }
    return false;
}

double written_at(const fs::path& file) {
    struct stat status {};

    return ::stat(file.c_str(), &status) == 0 ? static_cast<double>(status.st_mtim.tv_sec) : 0;
}

std::uint64_t tokens_of(const StepMetrics& step) {
    const double tokens = std::round(step.tokens_per_s * step.seconds);
    const bool counts = step.skipped.empty() && tokens > 0 && tokens < kTokensOfAStepMax;
    return counts ? static_cast<std::uint64_t>(tokens) : 0;
}

RunStanding standing_of(const RunSummary& run) {
    if (is_locked(run.folder)) {
        return RunStanding::Training;
    }
    if (run.step >= run.steps) {
        return RunStanding::Done;
    }
    const auto ended = read_patience_end(run.folder);
    if (ended && ended->step == run.step) {
        return RunStanding::Ended;
    }
    return run.step == 0 ? RunStanding::New : RunStanding::Stopped;
}

std::string loss_in_words(const std::optional<double>& loss) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.4f", loss.value_or(0));
    return loss ? text.data() : "-";
}

/// "2026-11-28 05:40": UTC, to the minute.
std::string minute_of(double unix_time_s) {
    constexpr double kLatest = 4e10;  // the year 3237
    if (!(unix_time_s > 0 && unix_time_s < kLatest)) {
        return "-";
    }
    const auto seconds = static_cast<std::time_t>(unix_time_s);
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    std::array<char, 32> text{};
    const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M", &parts);
    return {text.data(), size};
}

/// "3.2140", or "3.2140 (3.1007)" where an earlier evaluation was better.
std::string held_out_in_words(const RunSummary& run) {
    const std::string newest = loss_in_words(run.held_out);
    return run.held_out == run.best_held_out
               ? newest
               : newest + " (" + loss_in_words(run.best_held_out) + ")";
}

TableRow row_of(const RunSummary& run) {
    if (run.standing == RunStanding::Unreadable) {
        return {
            printable(run.folder.string()), "-", "-", "-", "-", "-", "-", to_text(run.standing)};
    }
    return {
        printable(run.folder.string()),
        printable(run.name),
        std::to_string(run.step) + "/" + std::to_string(run.steps),
        loss_in_words(run.loss),
        held_out_in_words(run),
        std::to_string(run.tokens),
        minute_of(run.changed_unix_time_s),
        to_text(run.standing)};
}

}  // namespace

const char* to_text(RunStanding standing) {
    switch (standing) {
        case RunStanding::New:
            return "new";
        case RunStanding::Training:
            return "training";
        case RunStanding::Stopped:
            return "stopped";
        case RunStanding::Ended:
            return "ended early";
        case RunStanding::Done:
            return "done";
        case RunStanding::Unreadable:
            return "unreadable";
    }
    return "";
}

Result<std::vector<fs::path>> find_runs(const std::vector<std::string>& named) {
    std::vector<fs::path> found;
    for (const std::string& name : named) {
        if (const fs::path run = run_in(name); is_run(run)) {
            found.push_back(run);
        } else {
            SWARM_TRY(add_runs_below(name, found));
        }
    }
    return found;
}

Result<RunFiles> read_run_files(const fs::path& named) {
    const fs::path folder = run_in(named);
    const fs::path settings = folder / kRunFileName;
    SWARM_TRY(const std::string text, read_file(settings, protocol::kRunFileBytesMax));
    RunFiles files;
    SWARM_TRY(files.config, run::parse_run(text, settings.string()));
    const fs::path figures = folder / kMetricsFile;
    std::error_code ignored;
    if (!fs::exists(figures, ignored)) {
        return files;
    }
    SWARM_TRY(const std::string lines, read_file(figures, kStepFiguresBytesMax));
    auto steps = parse_metrics(lines);
    if (!steps) {
        return no_runs(steps.error().code, figures, steps.error().detail);
    }
    files.steps = std::move(*steps);
    return files;
}

RunSummary summarise_run(const fs::path& folder) {
    RunSummary run;
    run.folder = folder;
    const Result<RunFiles> files = read_run_files(folder);
    if (!files) {
        run.standing = RunStanding::Unreadable;
        run.trouble = files.error().detail;
        return run;
    }
    run.name = files->config.name;
    run.steps = files->config.steps;
    run.changed_unix_time_s = written_at(folder / kRunFileName);
    for (const StepMetrics& step : files->steps) {
        run.step = step.step;
        run.loss = step.loss ? step.loss : run.loss;
        if (step.held_out) {
            run.held_out = step.held_out;
            const double best = run.best_held_out.value_or(*step.held_out);
            run.best_held_out = std::min(best, *step.held_out);
        }
        run.tokens += tokens_of(step);
        run.changed_unix_time_s = step.unix_time_s;
    }
    run.standing = standing_of(run);
    return run;
}

std::string runs_table(const std::vector<RunSummary>& runs) {
    std::vector<TableRow> rows{
        {"folder", "name", "step", "loss", "held-out", "tokens", "changed, UTC", "state"}};
    for (const RunSummary& run : runs) {
        rows.push_back(row_of(run));
    }
    return text_table(rows, {2, 3, 4, 5});
}

std::string runs_json(const std::vector<RunSummary>& runs) {
    json::array list;
    for (const RunSummary& run : runs) {
        const bool is_read = run.standing != RunStanding::Unreadable;
        const bool has_loss = run.loss && std::isfinite(*run.loss);
        json::object one{{"folder", run.folder.string()}, {"state", to_text(run.standing)}};
        one["name"] = is_read ? json::value(run.name) : json::value(nullptr);
        one["step"] = run.step;
        one["steps"] = run.steps;
        one["loss"] = has_loss ? json::value(*run.loss) : json::value(nullptr);
        one["held_out_loss"] = run.held_out ? json::value(*run.held_out) : json::value(nullptr);
        one["best_held_out_loss"] =
            run.best_held_out ? json::value(*run.best_held_out) : json::value(nullptr);
        one["tokens"] = run.tokens;
        one["changed_unix_time_s"] = run.changed_unix_time_s;
        one["trouble"] = is_read ? json::value(nullptr) : json::value(run.trouble);
        list.push_back(std::move(one));
    }
    return json::serialize(json::object{{"runs", std::move(list)}}) + "\n";
}

}  // namespace swarm::cli
