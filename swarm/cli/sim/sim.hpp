// `swarm sim`, `swarm sim compare` and `swarm sim record`: the simulator for people.
// Threading: the main thread. Errors: an exit code, and one line on stderr.
#pragma once

#include "swarm/cli/common/verb.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace swarm::cli {

/// Flags that `swarm sim` and `swarm sim compare` share.
struct SimFlags {
    std::string scenario;  // a file, or the name of a scenario that comes with the program
    std::optional<std::uint64_t> seed;
    std::optional<std::string> mode;  // exact or fluid
    std::vector<std::pair<std::string, std::string>> settings;
    bool verify = false;
    std::string json_file;
};

struct SimOptions {
    SimFlags flags;
    bool list = false;  // then the scenario is a folder, or empty
    std::uint32_t seeds = 1;
    std::optional<std::uint64_t> replay;
    std::string html_file;
};

struct SimCompareOptions {
    SimFlags flags;
    std::vector<std::string> policies;
    std::string html_file;
};

struct SimRecordOptions {
    std::string run_file;
    std::string out_file;  // empty: stdout
};

/// Adds the verb and those below it.
void add_sim(CLI::App& program, const OnChosen& on_chosen);

int simulate(const SimOptions& options);
int compare_policies(const SimCompareOptions& options);
int record_scenario(const SimRecordOptions& options);

}  // namespace swarm::cli
