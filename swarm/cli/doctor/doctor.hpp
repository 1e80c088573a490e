// `swarm doctor`: examines this machine, and prints what is wrong and the command that mends it.
// Threading: the main thread. Errors: an exit code, and one line on stderr.
#pragma once

#include "swarm/cli/common/verb.hpp"
#include "swarm/cli/doctor/reach_check.hpp"

#include <string>

namespace swarm::cli {

struct DoctorOptions {
    std::string json_file;
    ReachFlags reach;
};

void add_doctor(CLI::App& program, const OnChosen& on_chosen);

int doctor(const DoctorOptions& options);

}  // namespace swarm::cli
