// Many users at once at `swarm local --api` with SmolLM2 in three stages of two peers. Each text
// must be the one that it is alone; many_streams.py has the clients. Figures are printed, because
// they depend on the machine. The model must be in the cache.
#include "tests/golden/model_file.hpp"
#include "tests/places.hpp"
#include "tests/process/program.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace swarm::test {
namespace {

using std::chrono::seconds;

class ApiLoad : public testing::Test {
 protected:
    void SetUp() override {
        ASSERT_TRUE(std::filesystem::exists(golden::smollm2_file())) << golden::kFetchIt;
    }

    void start(const std::vector<std::string>& flags, const std::string& peers = "6") {
        std::vector<std::string> words{
            "local",
            "--model",
            "smollm2",
            "--stages",
            "3",
            "--peers",
            peers,
            "--api",
            "--port",
            port};
        words.insert(words.end(), flags.begin(), flags.end());
        swarm.emplace(std::move(words), folder.path());
        ASSERT_TRUE(swarm->wait_for_text("/v1; ask with", seconds(120))) << swarm->err();
    }

    void run_clients(const std::string& part) const { run("many_streams.py", part); }

    /// Returns the figures by their names.
    std::map<std::string, std::string> run(const std::string& script, const std::string& part)
        const {
        const std::filesystem::path out = folder.path() / "figures.txt";
        const std::string command = "python3 -B " + source_dir() + "/tests/process/api/" + script +
                                    " http://127.0.0.1:" + port + " " + part + " > " +
                                    out.string() + " 2>&1";
        const int status = std::system(command.c_str());
        std::cout << read_text(out);
        EXPECT_EQ(status, 0) << command << "\n" << swarm->err();
        std::map<std::string, std::string> figures;
        std::istringstream words(read_text(out));
        for (std::string name, value; words >> name >> value;) {
            figures[name] = value;
        }
        return figures;
    }

    TemporaryFolder folder;
    std::string port = std::to_string(free_port());
    std::optional<Program> swarm;
};

TEST_F(ApiLoad, EightUsersAndSixtyFourStreamsGetTheTextsOfOne) {
    start({});
    run_clients("alone");
    run_clients("streams 64");
}

/// With one peer for each stage all users meet there, and share its calls.
TEST_F(ApiLoad, EightUsersOfThreePeers) {
    start({}, "3");
    run_clients("alone");
}

/// Weights of fp32 take most of a call's time, so users who share calls gain most.
TEST_F(ApiLoad, EightUsersInFp32) {
    start({"--weights", "fp32"});
    run_clients("alone");
}

TEST_F(ApiLoad, EightUsersOfThreePeersInFp32) {
    start({"--weights", "fp32"}, "3");
    run_clients("alone");
}

/// Some kill comes every 7 s and some freeze every 11 s; a tenth of the clients hang up.
TEST_F(ApiLoad, TwoHundredStreamsOutliveTheirPeers) {
    start({"--kill-every", "7s", "--freeze-every", "11s"});
    run_clients("streams 200");
}

TEST_F(ApiLoad, TheNextTurnOfAChatReadsOnlyWhatIsNew) {
    start({}, "3");
    run("turns_and_guesses.py", "turns");
}

/// Texts over lines of 20 ms one way: the same with and without guesses, and sooner with them.
TEST_F(ApiLoad, GuessesBringTheSameTokensInFewerRoundTrips) {
    start({"--line-delay", "20ms", "--guesses", "0"}, "3");
    const auto plain = run("turns_and_guesses.py", "guesses");
    swarm.reset();
    port = std::to_string(free_port());
    start({"--line-delay", "20ms"}, "3");
    const auto guessed = run("turns_and_guesses.py", "guesses");
    for (const std::string kind : {"repetitive", "code_edit", "prose"}) {
        EXPECT_EQ(guessed.at(kind + "_tokens"), plain.at(kind + "_tokens"));
        const double ratio = std::stod(guessed.at(kind + "_tokens_per_s")) /
                             std::stod(plain.at(kind + "_tokens_per_s"));
        std::cout << kind << "_ratio " << ratio << "\n";
    }
}

TEST_F(ApiLoad, MemoryOfTwoHundredStreamsIsGivenBack) {
    start({});
    run("memory_check.py", std::to_string(swarm->pid()) + " 200");
}

}  // namespace
}  // namespace swarm::test
