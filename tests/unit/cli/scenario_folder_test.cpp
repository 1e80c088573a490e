#include "swarm/cli/sim/scenario_folder.hpp"

#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace swarm::cli {
namespace {

class ScenarioFolder : public testing::Test {
 protected:
    std::string write(const std::string& name, const std::string& text) {
        const std::filesystem::path path = folder_.path() / name;
        std::ofstream(path) << text;
        return path.string();
    }

    swarm::test::TemporaryFolder folder_;
};

constexpr const char* kSmall = "# Question: Does it run?\n[[peers]]\ncount = 8\nunits_per_s = 1\n";

TEST_F(ScenarioFolder, FindsAFileByItsPathAndAScenarioByItsName) {
    const std::string path = write("small.toml", kSmall);
    EXPECT_EQ(*find_scenario(path, "/nowhere"), path);
    EXPECT_EQ(*find_scenario("small", folder_.path()), path);
    EXPECT_EQ(*find_scenario("small.toml", folder_.path()), path);
}

TEST_F(ScenarioFolder, SaysWhatIsMissing) {
    const auto found = find_scenario("large", folder_.path());
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().reaction, Reaction::Reject);
    EXPECT_EQ(found.error().detail.find("large: "), 0U) << found.error().detail;
}

TEST_F(ScenarioFolder, ListsNamesAndQuestionsInOrder) {
    write("small.toml", kSmall);
    write("bad.toml", "x =");
    write("trace.csv", "");
    const auto listed = list_scenarios(folder_.path());
    ASSERT_TRUE(listed);
    ASSERT_EQ(listed->size(), 2U);
    EXPECT_EQ((*listed)[0].name, "bad");
    EXPECT_EQ((*listed)[0].question.find("rejected: "), 0U);
    EXPECT_EQ((*listed)[1].name, "small");
    EXPECT_EQ((*listed)[1].question, "Does it run?");
}

TEST_F(ScenarioFolder, AMissingFolderIsOneLine) {
    const auto listed = list_scenarios(folder_.path() / "none");
    ASSERT_FALSE(listed);
    EXPECT_EQ(listed.error().detail.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace swarm::cli
