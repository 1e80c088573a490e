// `swarm api` over peers that serve SmolLM2 in three stages of two, asked by the client that its
// users have (PyPI openai, which ./swarm.sh test fetches). The checks are in openai_client.py. The
// model must be in the cache.
#include "tests/golden/model_file.hpp"
#include "tests/places.hpp"
#include "tests/process/program.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace swarm::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

constexpr std::array kStages{"0-9", "10-19", "20-29"};
constexpr int kPeersOfStage = 2;
constexpr seconds kPatience{60};

class ApiTest : public testing::Test {
 protected:
    void SetUp() override {
        ASSERT_TRUE(fs::exists(golden::smollm2_file())) << golden::kFetchIt;
        ASSERT_TRUE(fs::exists(python)) << python << " is missing: run ./swarm.sh test";
        const std::string address = "127.0.0.1:" + std::to_string(free_port());
        directory = start({"directory", "--listen", address});
        ASSERT_TRUE(directory->wait_for_text("directory at " + address, kPatience));
        for (const char* const layers : kStages) {
            for (int i = 0; i < kPeersOfStage; ++i) {
                peers.push_back(start(
                    {"serve",
                     "--model",
                     "smollm2",
                     "--join",
                     address,
                     "--listen",
                     "127.0.0.1:0",
                     "--layers",
                     layers}
                ));
            }
        }
        for (const auto& peer : peers) {
            ASSERT_TRUE(peer->wait_for_text("serves layers", kPatience)) << peer->err();
        }
        write_keys();
        api = start(
            {"api", "--model", "smollm2", "--join", address, "--port", "0", "--keys", keys.string()}
        );
        ASSERT_TRUE(api->wait_for_text("/v1; ask with", kPatience)) << api->err();
    }

    std::unique_ptr<Program> start(std::vector<std::string> arguments) {
        const fs::path place = folder.path() / std::to_string(++started);
        fs::create_directories(place);
        return std::make_unique<Program>(std::move(arguments), place);
    }

    void write_keys() const {
        std::ofstream(keys) << "whole 100000 a-secret-of-many-requests\n"
                               "scarce 1 a-secret-of-one-request-\n";
        fs::permissions(keys, fs::perms::owner_read);
    }

    /// Returns the URL that the API printed, without its path.
    [[nodiscard]] std::string url() const {
        const std::string err = api->err();
        const std::size_t begin = err.find("http://");
        return err.substr(begin, err.find("/v1;") - begin);
    }

    /// Runs checks of the client, whose lines become those of this test.
    void expect_passed(const std::vector<std::string>& more) const {
        const fs::path out = folder.path() / "checks.txt";
        std::string command = python.string() + " -B " + source_dir() +
                              "/tests/process/api/openai_client.py " + url() + " --golden " +
                              source_dir() + "/tests/golden/smollm2.json --keys " + keys.string();
        for (const std::string& argument : more) {
            command += " " + argument;
        }
        const int status = std::system((command + " > " + out.string() + " 2>&1").c_str());
        std::cout << read_text(out);
        EXPECT_EQ(status, 0) << command << "\n" << api->err();
    }

    TemporaryFolder folder;
    fs::path python = golden::cache_folder() / "readers-2" / "bin" / "python";
    fs::path keys = folder.path() / "keys";
    std::unique_ptr<Program> directory;
    std::vector<std::unique_ptr<Program>> peers;
    std::unique_ptr<Program> api;
    int started = 0;
};

TEST_F(ApiTest, TheClientOfItsUsersIsAnsweredAsItExpects) {
    expect_passed({});
}

TEST_F(ApiTest, AKillInMidStreamChangesNoText) {
    Program& victim = *peers.at(kPeersOfStage);  // a peer of the stage in the middle
    expect_passed({"--kill", std::to_string(victim.pid()), "--only", "kill"});
    EXPECT_EQ(victim.wait(seconds(10)), 128 + SIGKILL);
}

/// The end waits for answers under way, and is the end of the program.
TEST_F(ApiTest, AnInterruptEndsTheProgram) {
    api->signal(SIGINT);
    EXPECT_EQ(api->wait(seconds(15)), 130) << api->err();
    EXPECT_NE(api->err().find("answers under way"), std::string::npos) << api->err();
}

}  // namespace
}  // namespace swarm::test
