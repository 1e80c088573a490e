// Runs `swarm local` on the oracle model and reads its --json.
#pragma once

#include "tests/process/program.hpp"

#include <boost/json.hpp>

#include <string>
#include <vector>

namespace swarm::test {

struct LocalRun {
    int exit_code = -1;
    std::string out;
    std::string err;
    boost::json::object report;  // empty when there is none
};

LocalRun run_local(std::vector<std::string> flags, std::chrono::seconds deadline);

/// Exit code 0, equal to one process, and every step has each microbatch once.
void expect_exact(const LocalRun& run);

}  // namespace swarm::test
