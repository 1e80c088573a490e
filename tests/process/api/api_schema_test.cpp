// PyPI's schemathesis reads the API's own description, /openapi.json, and invents requests from it:
// such as it allows, such as it forbids, and sequences of them. No answer may be an error of the
// server, and each must be as the description says. One check is left out: that whatever the
// description allows is answered, because it says nothing about the model's vocabulary, or about
// fields that want each other. The model must be in the cache, and schemathesis, which
// `./swarm.sh test --long` fetches.
#include "tests/process/api/api_attacks_bed.hpp"

#include <csignal>

namespace swarm::test {
namespace {

constexpr const char* kRequests = "30";  // per endpoint and kind of request
/// Seconds for one answer: eight texts of a whole context are 16,000 tokens.
constexpr const char* kAnswerS = "300";

TEST_F(ApiAttacksTest, AnswersAreAsTheDescriptionSays) {
    const auto python = golden::cache_folder() / "schemathesis-4" / "bin" / "python";
    ASSERT_TRUE(std::filesystem::exists(python))
        << python << " is missing: run ./swarm.sh test --long";
    const auto api = start_api({"--answer-tokens", "16"});
    // It leaves files behind in the folder where it runs.
    const std::string command =
        "cd " + folder.path().string() + " && " + python.string() + " -m schemathesis.cli run " +
        url_of(*api) + "/openapi.json --checks all --exclude-checks positive_data_acceptance" +
        " --max-examples " + kRequests + " --max-response-time " + kAnswerS +
        " --request-timeout " + kAnswerS + " --seed 1 --no-color";
    EXPECT_EQ(std::system(command.c_str()), 0) << command << "\n" << api->err();
    api->signal(SIGINT);
    EXPECT_EQ(api->wait(kPatience), 130) << api->err();
}

}  // namespace
}  // namespace swarm::test
