// `swarm key`: keys of private runs. Threading: the main thread. Errors: an exit code, and one line
// on stderr.
#pragma once

#include "swarm/cli/common/verb.hpp"

#include <string>

namespace swarm::cli {

struct KeyOptions {
    std::string file;
};

void add_key_verb(CLI::App& program, const OnChosen& on_chosen);

int new_key(const KeyOptions& options);

}  // namespace swarm::cli
