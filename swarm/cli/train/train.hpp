// `swarm train`: coordinates a run that peers join, or trains the same run in this process alone.
// Threading: the main thread. Errors: an exit code, and one line on stderr.
#pragma once

#include "swarm/base/units.hpp"
#include "swarm/cli/common/run_flags.hpp"
#include "swarm/cli/common/verb.hpp"
#include "swarm/cli/compute/threads.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace swarm::cli {

struct TrainOptions {
    std::string run_file;  // empty: defaults
    RunFlags run;
    bool print_toml = false;  // prints the run file with every key, and trains nothing
    std::string directory;    // empty: runs/<name>
    bool resume = false;
    bool accept_changes = false;  // with --resume
    bool single = false;
    bool beside_exact = false;     // with --single in mode sparse
    std::uint64_t lose_every = 0;  // with --single: steps between two lost replicas; 0: no loss
    bool hold = false;             // keeps the peers after the last step, until SIGINT
    Duration stage_lost_after = std::chrono::seconds(120);
    std::string listen = "*:7117";
    std::string http;  // [HOST:]PORT where people watch the run; empty: nowhere
    bool qr = false;   // the line that peers type as a QR code, too
    std::string swarm_key_file;
    std::string device = "auto";  // with --single
    ThreadsFlag threads;          // with --single; none: 1
    std::string codecs_from;      // with --single: the folder of a run that chose codecs or split
    std::string json_file;
    std::optional<Duration> log_every;  // between two lines of steps where there is no terminal
    int reports_fd = -1;                // for `swarm local`; -1: none
};

void add_train(CLI::App& program, const OnChosen& on_chosen);

int train(const TrainOptions& options);

}  // namespace swarm::cli
