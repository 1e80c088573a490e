// Runs `swarm eval` on SmolLM2: its losses are the reference's, and it prefers right endings. The
// model must be in the cache.
#include "tests/golden/model_file.hpp"
#include "tests/places.hpp"
#include "tests/process/program.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

namespace swarm::test {
namespace {

namespace json = boost::json;
using std::chrono::seconds;

class EvalModelTest : public testing::Test {
 protected:
    void SetUp() override {
        ASSERT_TRUE(std::filesystem::exists(golden::smollm2_file())) << golden::kFetchIt;
    }

    json::object eval(std::vector<std::string> arguments) {
        const std::filesystem::path file = folder.path() / "eval.json";
        arguments.insert(arguments.begin(), {"eval", "smollm2"});
        arguments.insert(arguments.end(), {"--json", file.string()});
        Program program(arguments, folder.path());
        EXPECT_EQ(program.wait(seconds(100)), 0) << program.err();
        return json::parse(read_text(file)).as_object();
    }

    TemporaryFolder folder;
};

TEST_F(EvalModelTest, TheLossesOfThePromptsAreTheReferences) {
    const json::object all =
        json::parse(read_text(source_dir() + "/tests/golden/smollm2.json")).as_object();
    json::array prompts = all.at("prompts").as_array();
    // To this verb names of special tokens are text, and to the reference those of a chat are not.
    prompts.erase(std::ranges::find(prompts, "chat", [](const json::value& prompt) {
        return prompt.at("name").as_string();
    }));
    std::vector<std::string> arguments;
    for (const json::value& prompt : prompts) {
        const std::string name(prompt.at("name").as_string());
        const std::filesystem::path file = folder.path() / (name + ".txt");
        std::ofstream(file, std::ios::binary) << std::string(prompt.at("text").as_string());
        arguments.insert(arguments.end(), {"--text", file.string()});
    }
    const json::object report = eval(arguments);
    const json::array& texts = report.at("texts").as_array();
    ASSERT_EQ(texts.size(), 2U);
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const json::value& prompt = prompts[i];
        EXPECT_EQ(texts[i].at("tokens"), prompt.at("ids").as_array().size() - 1) << i;
        EXPECT_NEAR(
            texts[i].at("loss").to_number<double>(),
            prompt.at("prompt_mean_nll").to_number<double>(),
            all.at("tolerance").at("logits_abs").to_number<double>()
        ) << prompt.at("name");
    }
}

TEST_F(EvalModelTest, ItBeatsGuessingInEachTask) {
    const json::object report = eval({"--tasks", "all", "--weights", "int8"});
    ASSERT_EQ(report.at("tasks").as_array().size(), 3U);
    for (const json::value& task : report.at("tasks").as_array()) {
        const auto figure = [&](const char* key) { return task.at(key).to_number<double>(); };
        EXPECT_GT(figure("share") - 4 * figure("standard_error"), figure("guessing")) << task;
    }
}

}  // namespace
}  // namespace swarm::test
