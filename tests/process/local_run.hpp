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
    boost::json::object report;  // empty: none was written
};

LocalRun run_local(std::vector<std::string> flags, std::chrono::seconds deadline);

/// Expects exit code 0, equality with one process, and each microbatch once in every step.
void expect_exact(const LocalRun& run);

}  // namespace swarm::test
