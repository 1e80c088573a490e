// `swarm runs`: a list of the runs in some folders, or two of them side by side.
// Threading: the main thread. Errors: an exit code, and one line on stderr.
#pragma once

#include "swarm/cli/common/verb.hpp"

#include <string>
#include <vector>

namespace swarm::cli {

struct RunsOptions {
    std::vector<std::string> folders{"runs"};  // folders of runs, or folders that hold some
    std::vector<std::string> compared{};       // two folders of runs; empty: all are listed
    std::string json_file;
};

void add_runs(CLI::App& program, const OnChosen& on_chosen);

int show_runs(const RunsOptions& options);

}  // namespace swarm::cli
