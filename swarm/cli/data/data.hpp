// `swarm data build`, `show` and `sample`: training data as files, tokenised once.
// Threading: the main thread. Errors: an exit code, and one line on stderr.
#pragma once

#include "swarm/cli/common/verb.hpp"

#include <cstdint>
#include <string>

namespace swarm::cli {

struct DataBuildOptions {
    std::string data_file;
    std::string folder;
    std::string json_file;
};

struct DataShowOptions {
    std::string folder;
    bool check = false;  // reads and hashes all shards
    std::string model;   // a model that the data must fit; empty: none
    std::string json_file;
};

struct DataSampleOptions {
    std::string folder;
    std::uint64_t samples = 1;
    std::uint64_t from = 0;
    std::uint32_t context = 256;
    std::uint64_t seed = 0;
    std::string json_file;
};

/// Adds the verb and those below it.
void add_data(CLI::App& program, const OnChosen& on_chosen);

int build_data_folder(const DataBuildOptions& options);
int show_data(const DataShowOptions& options);
int sample_data(const DataSampleOptions& options);

}  // namespace swarm::cli
