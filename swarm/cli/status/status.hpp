// `swarm status`: a run of others, as its coordinator tells it: step, losses, and the peers of each
// stage; once, or line by line until the run ends.
// Threading: the main thread. Errors: an exit code, and one line on stderr.
#pragma once

#include "swarm/base/units.hpp"
#include "swarm/cli/common/join_address.hpp"
#include "swarm/cli/common/verb.hpp"

#include <chrono>
#include <string>

namespace swarm::cli {

struct StatusOptions {
    std::string join;  // host:port of the coordinator
    ExpectedOwner owner{};
    bool watch = false;
    Duration wait = std::chrono::seconds(10);  // for the first answer
    std::string swarm_key_file;
    std::string json_file;
};

void add_status(CLI::App& program, const OnChosen& on_chosen);

int show_status(const StatusOptions& options);

}  // namespace swarm::cli
