// `swarm plot`: the figures of runs as lines of one SVG file, from the metrics.jsonl in their
// folders. Threading: the main thread. Errors: an exit code, and one line on stderr.
#pragma once

#include "swarm/cli/common/verb.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace swarm::cli {

struct PlotOptions {
    std::vector<std::string> runs;  // folders of runs, or files such as metrics.jsonl
    std::string out_file;           // empty: standard output
    std::string metric = "loss";
    std::string x = "step";
    std::uint32_t smooth = 1;  // steps whose mean is a point
    bool log = false;
};

void add_plot(CLI::App& program, const OnChosen& on_chosen);

int plot(const PlotOptions& options);

}  // namespace swarm::cli
