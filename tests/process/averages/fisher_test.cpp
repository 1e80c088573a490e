// Runs `swarm stack average --by fisher` like a person, on runs that began with one model.
#include "tests/places.hpp"
#include "tests/process/program.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace swarm::test {
namespace {

namespace fs = std::filesystem;

constexpr int kRefused = 3;

class FisherTest : public testing::Test {
 protected:
    /// Trains a base and two runs that go on from it.
    void SetUp() override {
        const std::string shape =
            "layers = 2\nwidth = 32\nheads = 2\nkv_heads = 2\nffn_width = 64\n";
        train("base", "it is a truth universally acknowledged that a man must want ", shape, "");
        train("a", "a man must acknowledge that it is a universal want ", "", "base");
        train("b", "universally a truth must want a man ", "", "base");
        write("held.txt", repeated("a man must want a truth acknowledged ").substr(0, 900));
    }

    static std::string repeated(const std::string& words) {
        std::string text;
        while (text.size() < 20'000) {
            text += words;
        }
        return text;
    }

    void write(const std::string& name, const std::string& text) const {
        std::ofstream(file(name)) << text;
    }

    void train(
        const std::string& name,
        const std::string& words,
        const std::string& shape,
        const std::string& init
    ) {
        write(name + ".txt", repeated(words));
        write(
            name + ".toml",
            "[run]\nname = \"" + name +
                "\"\nstages = 1\nsteps = 20\nmicrobatches = 4\nbatch = 4\n" + "corpus = \"" +
                file(name + ".txt") + "\"\n" + (init.empty() ? "" : "init = \"" + init + "\"\n") +
                "[model]\ncontext = 64\n" + shape +
                (init.empty() ? "tied_embeddings = true\n" : "") +
                "[optimizer]\nlearning_rate = 0.01\nwarmup_steps = 0\n"
        );
        ASSERT_EQ(run({"train", "--single", file(name + ".toml"), "--dir", file(name)}), 0) << err;
    }

    int run(const std::vector<std::string>& arguments) {
        Program program(arguments, folder.path());
        const int exit_code = program.wait(std::chrono::seconds(60));
        out = program.out();
        err = program.err();
        return exit_code;
    }

    int by_fisher(const std::vector<std::string>& models, const std::string& to) {
        std::vector<std::string> words{"stack", "average"};
        words.insert(words.end(), models.begin(), models.end());
        words.insert(words.end(), {"-o", file(to), "--by", "fisher", "--text", file("held.txt")});
        return run(words);
    }

    [[nodiscard]] std::string weights_of(const std::string& name) const {
        return read_text(file(name) + "/model.safetensors");
    }

    [[nodiscard]] std::string file(const std::string& name) const {
        return (folder.path() / name).string();
    }

    TemporaryFolder folder;
    std::string out;
    std::string err;
};

TEST_F(FisherTest, CopiesAverageToTheModelThatIsExported) {
    ASSERT_EQ(run({"model", "export", file("a"), file("exported")}), 0) << err;
    ASSERT_EQ(by_fisher({file("a"), file("a"), file("a")}, "copies"), 0) << err;
    EXPECT_EQ(weights_of("copies"), weights_of("exported"));
    EXPECT_NE(out.find("  0.333333  "), std::string::npos) << out;
}

TEST_F(FisherTest, EachMembersWeightAndLossAreSaid) {
    ASSERT_EQ(by_fisher({file("a"), file("b")}, "one"), 0) << err;
    const std::string said = out;
    std::istringstream lines(said);
    double weights[2] = {};
    double losses[2] = {};
    std::string rest[2];
    for (int i = 0; i < 2; ++i) {
        lines >> weights[i] >> losses[i];
        std::getline(lines, rest[i]);
        EXPECT_GT(weights[i], 0);
        EXPECT_GT(losses[i], 0);
    }
    EXPECT_NEAR(weights[0] + weights[1], 1, 2e-6);
    EXPECT_EQ(rest[0], " nats per token  " + file("a"));
    EXPECT_EQ(rest[1], " nats per token  " + file("b"));
    EXPECT_NE(losses[0], losses[1]);
    std::string last;
    std::getline(lines, last);
    EXPECT_EQ(last, file("one"));
    // It is no average by one weight per model, and the same each time.
    ASSERT_EQ(run({"stack", "average", file("a"), file("b"), "-o", file("uniform")}), 0) << err;
    EXPECT_NE(weights_of("one"), weights_of("uniform"));
    ASSERT_EQ(by_fisher({file("a"), file("b")}, "again"), 0) << err;
    EXPECT_EQ(weights_of("one"), weights_of("again"));
    ASSERT_EQ(run({"eval", file("one"), "--text", file("held.txt")}), 0) << err;
}

TEST_F(FisherTest, InputsThatCannotBeUsedAreOneLine) {
    const auto refused = [&](const std::string& text, const std::string& what) {
        const std::vector<std::string> words{
            "stack",
            "average",
            file("a"),
            file("b"),
            "-o",
            file("out"),
            "--by",
            "fisher",
            "--text",
            file(text)};
        EXPECT_EQ(run(words), kRefused) << err;
        EXPECT_EQ(count_lines(err), 1U) << err;
        EXPECT_NE(err.find(what), std::string::npos) << err;
        EXPECT_FALSE(fs::exists(file("out")));
    };
    refused("none.txt", "none.txt");
    write("one.txt", "x");
    refused("one.txt", "too short");
}

}  // namespace
}  // namespace swarm::test
