// The results of a simulated run: the content of --json, of the terminal's summary and of --html.
// Both the exact and the fluid runner fill it; a figure that a fidelity does not have is absent
// (null in JSON), never zero.
// Units: seconds of virtual time, bytes; shares in [0, 1], except throughput_of_optimal.
// Threading: plain data.
#pragma once

#include "sim/report/note.hpp"
#include "sim/scenario/scenario.hpp"
#include "swarm/base/digest.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sim {

/// State over time, sampled evenly, kSamplesMax times at most.
struct Sample {
    double at_s = 0;
    std::vector<std::uint32_t> peers_per_stage;
    std::vector<double> utilisation_per_stage;  // since the sample before
    std::uint64_t steps = 0;                    // since the start
    std::uint64_t bytes = 0;                    // since the start
};

inline constexpr std::size_t kSamplesMax = 600;

/// Called now and then with the share done, in [0, 1]; false ends the run (`interrupted`).
using Progress = std::function<bool(double)>;

/// Work that one peer did for one stage, over all committed steps.
struct PeerShare {
    std::uint32_t peer = 0;  // from 1, over all groups
    std::uint32_t stage = 0;
    std::uint64_t microbatches = 0;
    double share = 0;  // part of the stage's work
};

struct StepTimes {
    double mean = 0;
    double p50 = 0;
    double p99 = 0;
};

struct SimReport {
    std::string scenario;
    std::string question;
    Mode mode = Mode::Exact;
    std::uint64_t seed = 1;
    std::uint32_t peers = 0;
    std::uint32_t stages = 0;
    std::string policy;
    std::string rebalancer;

    std::uint64_t events = 0;
    double events_per_s = 0;  // per second of the machine's time
    double virtual_s = 0;
    bool interrupted = false;  // Ctrl-C: the figures cover the part that ran
    std::uint64_t steps = 0;
    std::vector<double> step_seconds;  // exact mode, in order
    std::optional<StepTimes> step_s;   // from step_seconds, or from the fluid mode's rate
    std::vector<PeerShare> shares;     // exact mode, by stage and peer
    double utilisation = 0;            // busy time over the time peers were up
    std::vector<double> utilisation_per_stage;
    /// Optimal: the same peers in the best places at each time.
    std::optional<double> throughput_of_optimal;
    std::uint64_t moves = 0;
    std::optional<std::uint64_t> replayed;
    std::optional<std::uint64_t> fenced;
    /// Share of work units that were computed and not counted.
    std::optional<double> lost_work_share;
    std::uint64_t bytes = 0;
    std::vector<std::string> violations;
    std::optional<std::string> failure;  // why the run ended before its time; not a violation
    std::uint64_t trace_hash = 0;

    std::vector<Sample> samples;
    std::vector<Note> notes;
};

/// Returns one object, with the keys of sim/README.md, "The report".
std::string to_json(const SimReport& report);
/// Returns a dozen lines for the terminal.
std::string to_text(const SimReport& report);
/// Returns one self-contained page: inline SVG, no script from elsewhere, no network.
std::string to_html(const SimReport& report);
/// Returns one such page that sets runs of one scenario with several policies side by side.
/// REQUIRES: at least one report.
std::string to_html(const std::vector<SimReport>& reports);
/// Returns one row per report, for `swarm sim compare` and `--seeds N`.
std::string to_table(const std::vector<SimReport>& reports);

StepTimes step_times(std::vector<double> seconds);

}  // namespace sim
