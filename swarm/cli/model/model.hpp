// `swarm model fetch`, `show` and `export`: downloads models of others and looks into them.
// Threading: the main thread. Errors: an exit code, and one line on stderr.
#pragma once

#include "swarm/cli/common/verb.hpp"

#include <cstdint>
#include <string>

namespace swarm::cli {

struct ModelFetchOptions {
    std::string name;
};

struct ModelShowOptions {
    std::string model;  // a path or a name
    std::uint32_t stages = 1;
    bool digests = false;  // hashes all files
    std::string json_file;
};

struct ModelExportOptions {
    std::string model;  // a path or a name
    std::string folder;
    bool adapter = false;  // the adapters alone
};

/// Adds the verb and those below it.
void add_model(CLI::App& program, const OnChosen& on_chosen);

int fetch_model(const ModelFetchOptions& options);
int show_model(const ModelShowOptions& options);
int export_model(const ModelExportOptions& options);

}  // namespace swarm::cli
