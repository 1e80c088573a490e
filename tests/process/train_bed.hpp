// `swarm train` and the `swarm serve` processes that join it, as a person would start them, each in
// its own shell; the oracle model.
// Threading: one thread. Errors: what does not start fails the test.
#pragma once

#include "tests/process/program.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace swarm::test {

/// "sha256 <hash>" of the last line of results; empty when there is none.
std::string weights_of(const Program& program);

class TrainBed : public testing::Test {
 protected:
    /// The arguments of `train`, at our address and in our directory.
    [[nodiscard]] std::vector<std::string> train(std::vector<std::string> more) const;

    /// Weights of the oracle model after so many steps in one process, never interrupted.
    std::string single_weights(const std::string& stages, const std::string& steps);

    void start_peers(int count, const std::string& service_ms);

    TemporaryFolder folder;
    std::filesystem::path directory = folder.path() / "run";
    std::string address = "127.0.0.1:" + std::to_string(free_port());
    std::vector<std::unique_ptr<Program>> peers;
};

}  // namespace swarm::test
