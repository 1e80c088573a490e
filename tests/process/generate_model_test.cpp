// Runs `swarm generate --model` like a person, on SmolLM2. The model must be in the cache.
#include "tests/golden/model_file.hpp"
#include "tests/places.hpp"
#include "tests/process/program.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <optional>

namespace swarm::test {
namespace {

namespace json = boost::json;
using std::chrono::seconds;

class GenerateModelTest : public testing::Test {
 protected:
    void SetUp() override {
        ASSERT_TRUE(std::filesystem::exists(golden::smollm2_file())) << golden::kFetchIt;
    }

    /// `out`: what must be printed; nullopt: anything.
    json::object generate(
        std::vector<std::string> arguments, const std::optional<std::string>& out
    ) {
        const std::filesystem::path file = folder.path() / "out.json";
        arguments.insert(arguments.begin(), {"generate", "--model", "smollm2"});
        arguments.insert(arguments.end(), {"--json", file.string()});
        Program program(arguments, folder.path());
        EXPECT_EQ(program.wait(seconds(60)), 0) << program.err();
        EXPECT_EQ(program.out(), out.value_or(program.out()));
        EXPECT_EQ(count_lines(program.err()), 2U) << program.err();
        return json::parse(read_text(file)).as_object();
    }

    void expect_refused(const std::vector<std::string>& arguments, const std::string& why) {
        Program program(arguments, folder.path());
        EXPECT_EQ(program.wait(seconds(60)), 3) << program.err();
        EXPECT_EQ(count_lines(program.err()), 1U) << program.err();
        EXPECT_NE(program.err().find(why), std::string::npos) << program.err();
        EXPECT_EQ(program.out(), "");
    }

    TemporaryFolder folder;
};

TEST_F(GenerateModelTest, AnswersAQuestionAndPrintsTheSpeed) {
    const json::object report =
        generate({"What is the capital of France?"}, "The capital of France is Paris.\n");
    EXPECT_EQ(report.at("text"), "The capital of France is Paris.");
    EXPECT_EQ(report.at("ids").as_array().size(), 7U);
    EXPECT_EQ(report.at("prompt_tokens"), 37);
    EXPECT_GT(report.at("prefill_tokens_per_s").as_double(), 0);
    EXPECT_GT(report.at("decode_tokens_per_s").as_double(), 0);
}

TEST_F(GenerateModelTest, ContinuesARawTextPastItsEndWithTheReferencesTokens) {
    const json::object all =
        json::parse(read_text(source_dir() + "/tests/golden/smollm2.json")).as_object();
    const json::object& prompt =
        all.at("prompts").at(2).as_object();  // its answer ends before 48 tokens
    const std::string text(prompt.at("text").as_string());
    const std::string after(prompt.at("greedy48_text").as_string());
    const json::object report = generate(
        {"--raw", "--ignore-eos", "--max-tokens", "48", "--prompt", text}, text + after + "\n"
    );
    EXPECT_EQ(report.at("ids"), prompt.at("greedy48"));
}

TEST_F(GenerateModelTest, ThreadsChangeNoToken) {
    const auto ids_with = [&](const char* threads) {
        const std::filesystem::path file = folder.path() / "threads.json";
        Program program(
            {"generate",
             "--model",
             "smollm2",
             "--weights",
             "int8",
             "--temperature",
             "1.5",
             "--raw",
             "--ignore-eos",
             "--tokens",
             "24",
             "--threads",
             threads,
             "--json",
             file.string(),
             "Once upon a time"},
            folder.path()
        );
        EXPECT_EQ(program.wait(seconds(60)), 0) << program.err();
        return json::parse(read_text(file)).at("ids");
    };
    const json::value one = ids_with("1");
    EXPECT_EQ(one.as_array().size(), 24U);
    for (const char* threads : {"2", "3", "auto"}) {
        EXPECT_EQ(ids_with(threads), one) << threads;
    }
}

TEST_F(GenerateModelTest, DrawsTheSameTextForTheSameSeed) {
    const std::vector<std::string> drawn{
        "generate",
        "--model",
        "smollm2",
        "--weights",
        "int8",
        "--temperature",
        "1.5",
        "--seed",
        "7",
        "--raw",
        "--tokens",
        "12",
        "Once"};
    Program first(drawn, folder.path());
    EXPECT_EQ(first.wait(seconds(60)), 0) << first.err();
    const std::string text = first.out();
    Program second(drawn, folder.path());
    EXPECT_EQ(second.wait(seconds(60)), 0) << second.err();
    EXPECT_EQ(second.out(), text);
    EXPECT_TRUE(text.starts_with("Once")) << text;
}

TEST_F(GenerateModelTest, ASystemMessageStandsInTheChatTemplate) {
    const json::object chat =
        generate({"--tokens", "4", "--system", "Be brief.", "Name a colour."}, std::nullopt);
    const std::string text(chat.at("text").as_string());
    const std::string prompt =
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nName a colour.<|im_end|>\n"
        "<|im_start|>assistant\n";
    const json::object raw =
        generate({"--tokens", "4", "--raw", "--prompt", prompt}, prompt + text + "\n");
    EXPECT_EQ(chat.at("prompt_tokens"), raw.at("prompt_tokens"));
    EXPECT_EQ(chat.at("ids"), raw.at("ids"));
}

TEST_F(GenerateModelTest, AStopTextEndsTheAnswerBeforeIt) {
    const json::object report = generate(
        {"--stop", "is Paris", "--stop", "London", "What is the capital of France?"},
        "The capital of France \n"
    );
    EXPECT_EQ(report.at("text"), "The capital of France ");
    EXPECT_EQ(report.at("ids").as_array().size(), 6U) << "with those of the stop text";
}

TEST_F(GenerateModelTest, AnImpossibleQuestionIsOneLine) {
    expect_refused({"generate", "--model", "giant", "text"}, "giant");
    expect_refused({"generate", "--model", "smollm2", ""}, "empty");
    expect_refused({"generate", "--model", "smollm2", "\x04"}, "no byte of the prompt");
    expect_refused({"generate", "--model", "smollm2", "\xff"}, "UTF-8");
    std::string long_text;
    for (int i = 0; i < 9000; ++i) {
        long_text += " word";
    }
    expect_refused(
        {"generate", "--model", "smollm2", "--weights", "int8", long_text}, "context is 8192"
    );
}

}  // namespace
}  // namespace swarm::test
