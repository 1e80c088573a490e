// What a person sees on stderr: log lines, and below them one status line that is redrawn in place.
// Without a terminal there is no status line: then each step is a log line.
// Threading: one thread.
#pragma once

#include "swarm/cli/report_lines.hpp"
#include "swarm/node/report.hpp"
#include "swarm/run/config.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace swarm::cli {

class Console {
 public:
    Console();
    Console(const Console&) = delete;
    Console& operator=(const Console&) = delete;
    /// Leaves the last status on the screen.
    ~Console();

    [[nodiscard]] bool is_terminal() const { return is_terminal_; }

    void log(node::LogLine::Level level, const std::string& text);

    void info(const std::string& text) { log(node::LogLine::Level::Info, text); }

    void warn(const std::string& text) { log(node::LogLine::Level::Warning, text); }

    void error(const std::string& text) { log(node::LogLine::Level::Error, text); }

    void status(const std::string& text);

 private:
    bool is_terminal_;
    std::string status_;
};

/// Turns the reports of a coordinator into lines for people.
class Progress {
 public:
    Progress(Console& console, const run::RunConfig& config)
        : console_(console),
          steps_(config.steps),
          tokens_per_step_(
              std::uint64_t{config.microbatches} * config.batch * config.model.context
          ) {}

    void show(const TrainReport& report);

 private:
    void show_one(const Listening&) {}

    void show_one(const PastLoss&) {}

    void show_one(const StagesCut& cut);
    void show_one(const node::StepCommitted& step);
    void show_one(const node::StepSkipped& skip);

    void show_one(const node::ShareCounted&) {}

    void show_one(const node::ShareLost& lost);
    void show_one(const node::PeerChanged& changed);
    void show_one(const node::RunFinished& finished);

    void show_one(const node::RunFailed&) {}  // whoever ends says it

    Console& console_;
    std::uint64_t steps_;
    std::uint64_t tokens_per_step_;
    std::uint64_t skipped_ = 0;
    double seconds_per_step_ = 0;  // EMA
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
    std::vector<std::uint32_t> peers_per_stage_;
};

/// "step 12/60  loss 3.214  5.1k tokens/s  ETA 0:41  peers 2+2+1"
std::string progress_line(
    const node::StepCommitted& step,
    std::uint64_t steps,
    double tokens_per_s,
    double seconds_left,
    const std::vector<std::uint32_t>& peers_per_stage
);

/// The first letters of a peer's id: enough for people.
std::string short_name(const PeerId& peer);

}  // namespace swarm::cli
