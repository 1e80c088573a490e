// `swarm train` and the `swarm serve` processes that join it, started like a person starts them.
// The model is the oracle.
// Threading: one thread. Errors: a process that does not start fails the test.
#pragma once

#include "tests/process/program.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace swarm::test {

/// Returns "sha256 <hash>" of the last line of results; empty when there is none.
std::string weights_of(const Program& program);

class TrainBed : public testing::Test {
 protected:
    /// Returns the arguments of `train`, with the address and the folder of this test. Each step
    /// has a line on stderr.
    [[nodiscard]] std::vector<std::string> train(std::vector<std::string> more) const;

    /// Returns the hash of the oracle model after so many steps in one process without a break.
    std::string single_weights(const std::string& stages, const std::string& steps);

    void start_peers(int count, const std::string& service_ms);

    TemporaryFolder folder;
    std::filesystem::path directory = folder.path() / "run";
    std::string address = "127.0.0.1:" + std::to_string(free_port());
    std::vector<std::unique_ptr<Program>> peers;
};

}  // namespace swarm::test
