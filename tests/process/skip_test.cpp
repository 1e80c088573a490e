// A run that really diverges: with a learning rate of 100 the second update makes weights with
// which no replica computes finite numbers. Peers skip such steps, and one process does, too.
#include "tests/process/program.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <string>
#include <vector>

namespace swarm::test {
namespace {

namespace json = boost::json;

constexpr std::chrono::seconds kPatience(100);

class SkipTest : public testing::Test {
 protected:
    SkipTest() {
        std::ofstream(folder_.path() / "run.toml")
            << "[run]\nname = \"diverges\"\nstages = 2\nsteps = 10\n"
               "[optimizer]\nlearning_rate = 100\nfinal_learning_rate = 100\n";
    }

    /// Expects that the run ends with a message. Returns its report.
    json::object end_of(std::vector<std::string> command) {
        const auto file = folder_.path() / "report.json";
        command.insert(command.begin() + 1, (folder_.path() / "run.toml").string());
        const auto directory = folder_.path() / command.front();
        command.insert(command.end(), {"--json", file.string(), "--dir", directory.string()});
        Program program(command, folder_.path());
        EXPECT_EQ(program.wait(kPatience), 1) << program.err();
        EXPECT_NE(program.err().find("3 steps in a row were skipped"), std::string::npos)
            << program.err();
        return json::parse(read_text(file)).as_object();
    }

    TemporaryFolder folder_;
};

TEST_F(SkipTest, StepsThatNobodyCanComputeAreSkippedAsInOneProcess) {
    const json::object alone = end_of({"train", "--single"});
    const json::object peers = end_of({"local", "--peers", "4"});
    EXPECT_EQ(peers.at("skips").to_number<int>(), 3);
    EXPECT_EQ(alone.at("skips").to_number<int>(), 3);
    EXPECT_FALSE(peers.at("losses").as_array().empty());
    EXPECT_EQ(peers.at("losses"), alone.at("losses"));
    for (const json::value& event : peers.at("events").as_array()) {
        EXPECT_EQ(event.at("kind").as_string(), "skip") << "nobody is fenced for it";
    }
}

}  // namespace
}  // namespace swarm::test
