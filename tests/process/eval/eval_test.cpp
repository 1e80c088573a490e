// Runs `swarm eval` like a person, on tiny models that a run has trained, or has hardly begun to.
#include "tests/process/program.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <fstream>

namespace swarm::test {
namespace {

namespace json = boost::json;
using std::chrono::seconds;

constexpr const char* kSentence =
    "it is a truth universally acknowledged that a single man must want ";

class EvalTest : public testing::Test {
 protected:
    /// Trains a Llama whose tokens are bytes in the folder `name`.
    void train(const std::string& name, int context, int steps) {
        std::string words;
        while (words.size() < 20'000) {
            words += kSentence;
        }
        write("words.txt", words);
        write(
            name + ".toml",
            "[run]\nname = \"" + name + "\"\nstages = 1\nsteps = " + std::to_string(steps) +
                "\nmicrobatches = 4\nbatch = 4\ncorpus = \"" + file("words.txt") +
                "\"\n[model]\nlayers = 1\nwidth = 32\nheads = 2\nkv_heads = 2\nffn_width = 64\n" +
                "context = " + std::to_string(context) + "\n"
        );
        ASSERT_EQ(run({"train", "--single", file(name + ".toml"), "--dir", file(name)}), 0) << err;
    }

    void write(const std::string& name, const std::string& text) {
        std::ofstream(file(name), std::ios::binary) << text;
    }

    int run(const std::vector<std::string>& arguments) {
        Program program(arguments, folder.path());
        const int exit_code = program.wait(seconds(60));
        out = program.out();
        err = program.err();
        return exit_code;
    }

    json::object eval(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "eval");
        arguments.insert(arguments.end(), {"--json", file("eval.json")});
        EXPECT_EQ(run(arguments), 0) << err;
        return json::parse(read_text(file("eval.json"))).as_object();
    }

    [[nodiscard]] std::string file(const std::string& name) const {
        return (folder.path() / name).string();
    }

    TemporaryFolder folder;
    std::string out;
    std::string err;
};

/// A text of one window has the loss that `swarm stack measure` prints for it.
TEST_F(EvalTest, TheLossOfATextIsThatOfTheStacks) {
    train("words", 64, 40);
    write("short.txt", std::string(kSentence).substr(3, 60));
    const std::string stack = file("one.toml");
    ASSERT_EQ(run({"stack", "new", stack, "--member", file("words")}), 0) << err;
    ASSERT_EQ(
        run({"stack", "measure", stack, "--text", file("short.txt"), "--window", "64"}), 0
    ) << err;
    const double measured = std::stod(out.substr(out.find('\n') + 1));
    const json::object report = eval({file("words"), "--text", file("short.txt")});
    const json::object& text = report.at("texts").at(0).as_object();
    EXPECT_EQ(text.at("tokens"), 59);
    EXPECT_EQ(text.at("bytes"), 59);
    const double loss = text.at("loss").to_number<double>();
    EXPECT_NEAR(loss, measured, 6e-5);
    EXPECT_NEAR(text.at("bits_per_byte").to_number<double>(), loss / std::log(2.0), 1e-9);
    EXPECT_NEAR(text.at("perplexity").to_number<double>(), std::exp(loss), 1e-6);
    EXPECT_EQ(report.at("context"), 64);
    EXPECT_EQ(report.at("stride"), 32);
    EXPECT_EQ(report.at("interrupted"), false);
    EXPECT_EQ(count_lines(out), 2U) << out;
}

/// A path over the whole model twice has the loss of a chain of the model and itself.
TEST_F(EvalTest, APathHasTheLossOfTheSameChain) {
    train("words", 64, 40);
    write("short.txt", std::string(kSentence).substr(3, 60));
    const std::string model = file("words");
    const std::string stack = file("twice.toml");
    ASSERT_EQ(
        run({"stack", "new", stack, "--mode", "chain", "--member", model, "--member", model}), 0
    ) << err;
    run({"stack", "measure", stack, "--text", file("short.txt"), "--window", "64"});
    const std::size_t row = out.find("  the stack");
    ASSERT_NE(row, std::string::npos) << err;
    const double chain = std::stod(out.substr(out.rfind('\n', row)));
    const auto loss_of = [&](const std::string& path) {
        const json::object report =
            eval({model, "--text", file("short.txt"), "--path", path, "--stages", "1"});
        EXPECT_EQ(report.at("path").as_array().size(), path.size() / 2 + 1);
        return report.at("all").at("loss").to_number<double>();
    };
    EXPECT_NEAR(loss_of("0,0"), chain, 6e-5) << out;
    EXPECT_NE(loss_of("0,0"), loss_of("0"));
    EXPECT_EQ(run({"eval", model, "--text", file("short.txt"), "--path", "0,1"}), 3);
    EXPECT_NE(err.find("the path must begin with stage 0"), std::string::npos) << err;
}

TEST_F(EvalTest, SeveralTextsComeWithTheirMean) {
    train("words", 64, 20);
    std::filesystem::create_directory(file("texts"));
    write("texts/a.txt", kSentence);
    write("texts/b.txt", "\xff not UTF-8 \xfe but bytes are tokens here, more than a window holds");
    const std::string model = file("words");
    const json::object report =
        eval({model, "--text", file("texts"), "--text", file("words.txt"), "--stride", "63"});
    const json::array& texts = report.at("texts").as_array();
    ASSERT_EQ(texts.size(), 3U);
    EXPECT_EQ(texts[0].at("text").as_string(), file("texts/a.txt"));
    EXPECT_EQ(texts[1].at("lost"), 0);
    double nats = 0;
    double tokens = 0;
    for (const json::value& text : texts) {
        const auto own = text.at("tokens").to_number<double>();
        nats += own * text.at("loss").to_number<double>();
        tokens += own;
    }
    EXPECT_NEAR(report.at("all").at("loss").to_number<double>(), nats / tokens, 1e-9);
    EXPECT_LT(
        texts[2].at("loss").to_number<double>() + 0.2, texts[1].at("loss").to_number<double>()
    ) << "the text of its training is easier";
    EXPECT_EQ(count_lines(out), 5U) << out;
    const json::object again = eval({model, "--text", file("texts/b.txt"), "--threads", "2"});
    const json::object alone = eval({model, "--text", file("texts/b.txt"), "--threads", "1"});
    EXPECT_EQ(again.at("all").at("loss"), alone.at("all").at("loss"));
}

TEST_F(EvalTest, AModelThatHasHardlyBegunIsAsGoodAsAGuess) {
    train("fresh", 128, 1);
    const json::object report = eval({file("fresh"), "--tasks", "all"});
    ASSERT_EQ(report.at("tasks").as_array().size(), 3U);
    EXPECT_TRUE(report.at("all").is_null());
    for (const json::value& task : report.at("tasks").as_array()) {
        const double guessing = task.at("guessing").to_number<double>();
        const double deviation =
            std::sqrt(guessing * (1 - guessing) / task.at("items").to_number<double>());
        EXPECT_NEAR(task.at("share").to_number<double>(), guessing, 3 * deviation) << out;
    }
    EXPECT_EQ(count_lines(out), 4U) << out;
}

TEST_F(EvalTest, CtrlCEndsWithTheFiguresSoFar) {
    train("words", 64, 1);
    std::string endless;
    while (endless.size() < 8'000'000) {
        endless += kSentence;
    }
    write("endless.txt", endless);
    write("short.txt", kSentence);
    Program program(
        {"eval",
         file("words"),
         "--text",
         file("short.txt"),
         "--text",
         file("endless.txt"),
         "--stride",
         "1",
         "--json",
         file("eval.json")},
        folder.path()
    );
    // A line of progress comes after 10 s where there is no terminal.
    ASSERT_TRUE(program.wait_for_text("endless.txt: ", seconds(40))) << program.err();
    program.signal(SIGINT);
    EXPECT_EQ(program.wait(seconds(20)), 130) << program.err();
    const json::object report = json::parse(read_text(file("eval.json"))).as_object();
    EXPECT_EQ(report.at("interrupted"), true);
    const json::array& texts = report.at("texts").as_array();
    ASSERT_EQ(texts.size(), 2U);
    EXPECT_EQ(texts[0].at("finished"), true);
    EXPECT_EQ(texts[1].at("finished"), false);
    EXPECT_GT(texts[1].at("tokens").to_number<int>(), 0);
    EXPECT_EQ(texts[1].at("tokens"), texts[1].at("bytes"));
    EXPECT_NE(program.out().find("(so far)"), std::string::npos) << program.out();
}

TEST_F(EvalTest, AnImpossibleQuestionIsOneLine) {
    train("words", 64, 1);
    write("short.txt", kSentence);
    write("empty.txt", "");
    write("one.txt", "x");
    const auto refused = [&](std::vector<std::string> arguments, const std::string& why) {
        arguments.insert(arguments.begin(), {"eval", file("words"), "--text"});
        EXPECT_EQ(run(arguments), 3) << err;
        EXPECT_EQ(count_lines(err), 1U) << err;
        EXPECT_NE(err.find(why), std::string::npos) << err;
        EXPECT_EQ(out, "");
    };
    refused({file("empty.txt")}, "the text is empty");
    refused({file("one.txt")}, "too short");
    refused({file("none.txt")}, "none.txt");
    refused({file("short.txt"), "--context", "65"}, "the model's context is 64 tokens");
    refused({file("short.txt"), "--context", "8", "--stride", "8"}, "it is at most 7");
    EXPECT_EQ(run({"eval", "giant", "--tasks", "all"}), 3) << err;
    EXPECT_EQ(count_lines(err), 1U) << err;
    EXPECT_EQ(run({"eval", file("words"), "--tasks", "copy"}), 3) << err;
    EXPECT_NE(err.find("task copy: an item has "), std::string::npos) << err;
    EXPECT_EQ(run({"eval", file("words")}), 2) << err;
}

}  // namespace
}  // namespace swarm::test
