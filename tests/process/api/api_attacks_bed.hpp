// The bed of the tests that attack an API: one peer serves SmolLM2, and `swarm api` answers for it,
// with TLS or without. The model must be in the cache.
#pragma once

#include "tests/golden/model_file.hpp"
#include "tests/places.hpp"
#include "tests/process/program.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace swarm::test {

class ApiAttacksTest : public testing::Test {
 protected:
    static constexpr std::chrono::seconds kPatience{60};

    void SetUp() override {
        ASSERT_TRUE(std::filesystem::exists(golden::smollm2_file())) << golden::kFetchIt;
        directory = start({"directory", "--listen", address});
        ASSERT_TRUE(directory->wait_for_text("directory at " + address, kPatience));
        peer = start({"serve", "--model", "smollm2", "--join", address, "--listen", "127.0.0.1:0"});
        ASSERT_TRUE(peer->wait_for_text("serves layers", kPatience)) << peer->err();
    }

    std::unique_ptr<Program> start(std::vector<std::string> arguments) {
        const std::filesystem::path place = folder.path() / std::to_string(++started);
        std::filesystem::create_directories(place);
        return std::make_unique<Program>(std::move(arguments), place);
    }

    /// Starts an API; `more` are further arguments of it.
    std::unique_ptr<Program> start_api(const std::vector<std::string>& more) {
        std::vector<std::string> arguments{
            "api", "--model", "smollm2", "--join", address, "--port", "0"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        std::unique_ptr<Program> api = start(std::move(arguments));
        EXPECT_TRUE(api->wait_for_text("/v1; ask with", kPatience)) << api->err();
        return api;
    }

    /// Returns the URL that the API printed, without its path.
    static std::string url_of(const Program& api) {
        const std::string err = api.err();
        const std::size_t begin = err.find(" at http") + 4;
        return err.substr(begin, err.find("/v1;") - begin);
    }

    /// Runs a script of this folder with the API's URL and process; its lines become the test's.
    static void run(
        const std::string& script, const Program& api, const std::string& more, std::ostream& out
    ) {
        const TemporaryFolder place;
        const std::filesystem::path lines = place.path() / "lines.txt";
        const std::string command = "python3 -B " + source_dir() + "/tests/process/api/" + script +
                                    " " + url_of(api) + " " + std::to_string(api.pid()) + more +
                                    " > " + lines.string() + " 2>&1";
        const int status = std::system(command.c_str());
        const std::string told = read_text(lines);
        out << told;
        EXPECT_EQ(status, 0) << command << "\n" << told << api.err();
    }

    TemporaryFolder folder;
    std::string address = "127.0.0.1:" + std::to_string(free_port());
    std::unique_ptr<Program> directory;
    std::unique_ptr<Program> peer;
    int started = 0;
};

}  // namespace swarm::test
