// The progress of a training run for people: turns the reports of a coordinator into lines on the
// console.
// Threading: one thread.
#pragma once

#include "swarm/cli/common/report_lines.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/cli/terminal/line_pace.hpp"
#include "swarm/run/config.hpp"
#include "swarm/run/training/loss_watch.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace swarm::cli {

class Progress {
 public:
    /// `log_every`: least time between two lines of steps where there is no terminal; see LinePace.
    Progress(Console& console, const run::RunConfig& config, std::optional<Duration> log_every = {})
        : console_(console),
          pace_(log_every),
          watch_(config.loop),
          steps_(config.steps),
          config_(config) {}

    void show(const TrainReport& report);

    /// Writes the line of the newest step if the pace had withheld it, because the run ends here.
    void finish();

 private:
    void show_one(const Listening&) {}

    void show_one(const PastLoss& past) { watch_.recall(past.step, past.loss); }

    void show_one(const StagesCut& cut);
    void show_one(const HeldOutFound& found);
    void show_one(const PatienceOver& over);
    void show_one(const node::StepCommitted& step);
    void show_one(const node::StepSkipped& skip);

    void show_one(const node::WorkCounted&) {}

    void show_one(const node::ShareLost& lost);
    void show_one(const node::PeerChanged& changed);
    void show_one(const node::RunFinished& finished);

    void show_one(const node::RunFailed&) {}  // the caller that ends the program prints this one

    Console& console_;
    LinePace pace_;
    run::LossWatch watch_;
    std::string withheld_;  // the line of the newest step; empty when it was written
    std::uint64_t steps_;
    run::RunConfig config_;
    std::uint64_t skipped_ = 0;
    std::optional<double> held_out_;  // mean loss of the newest evaluation
    std::deque<double> latest_s_;  // times of the latest steps, at most kLatest
    /// When the first step could begin: at the start, or when the last peer joined before it.
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
    std::vector<std::uint32_t> peers_per_stage_;
};

/// Returns the usual time of a step: the median, because one step that waited for a newcomer, or
/// that was nearly done before a restart, says nothing about the next ones.
double usual_seconds(const std::deque<double>& latest_s);

/// "0:41", or "3 h 07 min".
std::string clock_text(double seconds);

/// "2+2+1": the peers of each stage.
std::string peers_text(const std::vector<std::uint32_t>& peers_per_stage);

/// "step 12/60  loss 3.2140  5.1k tokens/s  ETA 0:41  peers 2+2+1". `seconds_left`: nullopt while
/// too few steps are done to tell.
std::string progress_line(
    const node::StepCommitted& step,
    std::uint64_t steps,
    double tokens_per_s,
    std::optional<double> seconds_left,
    const std::vector<std::uint32_t>& peers_per_stage
);

}  // namespace swarm::cli
