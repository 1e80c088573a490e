// Runs `swarm stack average` and `soup` like a person, on runs that began with one model.
#include "tests/process/averages/averages_bed.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <sys/wait.h>

namespace swarm::test {
namespace {

namespace fs = std::filesystem;

constexpr int kFailed = 1;

using AveragesTest = AveragesBed;

TEST_F(AveragesTest, CopiesAverageToTheModelThatIsExported) {
    ASSERT_EQ(run({"model", "export", file("a"), file("exported")}), 0) << err;
    const std::string a = file("a");
    ASSERT_EQ(average({a, a, a, "-o", file("copies")}), 0) << err;
    expect_same_folder("exported", "copies");
    EXPECT_EQ(count_lines(out), 4U) << out;
    EXPECT_NE(out.find("  0.333333  " + a + "\n"), std::string::npos) << out;
    ASSERT_EQ(average({a, file("b"), "--weights", "1,0", "-o", file("first")}), 0) << err;
    expect_same_folder("exported", "first");
    // The folder is a member like any other.
    ASSERT_EQ(average({file("copies"), a, "-o", file("again")}), 0) << err;
    expect_same_folder("exported", "again");
    ASSERT_EQ(average({a, file("b"), "-o", file("both")}), 0) << err;
    EXPECT_NE(
        read_text(file("both/model.safetensors")), read_text(file("first/model.safetensors"))
    );
}

TEST_F(AveragesTest, ASoupIsAtLeastAsGoodAsItsBestModel) {
    // A run of many large steps on other letters: no average with it is any good.
    write("c.txt", repeated("0987654321 !? "));
    train("c", "base", 60, "c.txt");
    ASSERT_EQ(
        run(
            {"stack",
             "soup",
             file("c"),
             file("b"),
             file("a"),
             file("base"),
             "-o",
             file("soup"),
             "--text",
             file("held.txt")}
        ),
        0
    ) << err;
    std::istringstream lines(out);
    std::string line;
    std::getline(lines, line);
    EXPECT_EQ(line, "899 held-out tokens, nats per token:");
    std::getline(lines, line);
    double before = 0;
    double kept = 0;
    std::vector<std::string> left;
    for (int model = 0; model < 4; ++model) {
        double alone = 0;
        double together = 0;
        std::string state;
        std::string name;
        lines >> alone >> together >> state >> name;
        EXPECT_GE(alone, before) << "they are tried in order";
        before = alone;
        if (model == 0) {
            EXPECT_EQ(alone, together);
            EXPECT_EQ(state, "kept");
        }
        EXPECT_EQ(state == "kept", model == 0 || together <= kept) << out;
        kept = state == "kept" ? together : kept;
        if (state == "left") {
            left.push_back(name);
        }
    }
    EXPECT_NE(std::ranges::find(left, file("c")), left.end()) << out;
    EXPECT_LE(left.size(), 2U) << "runs of one beginning average well: " << out;
    // The soup was written as it was measured, and `swarm eval` agrees.
    const double loss = loss_of(file("soup"));
    EXPECT_NEAR(loss, kept, 1e-6);
    for (const char* const name : {"a", "b", "base", "c"}) {
        EXPECT_LE(loss, loss_of(file(name)) + 1e-9) << name;
    }
}

TEST_F(AveragesTest, WeightsByLossAreTheirSoftmax) {
    ASSERT_EQ(
        average(
            {file("a"), file("b"), "--by", "loss", "--text", file("held.txt"), "-o", file("out")}
        ),
        0
    ) << err;
    std::istringstream lines(out);
    double weights[2] = {};
    double losses[2] = {};
    for (int i = 0; i < 2; ++i) {
        std::string rest;
        lines >> weights[i] >> losses[i];
        std::getline(lines, rest);
    }
    EXPECT_NEAR(losses[0], loss_of(file("a")), 1e-6);
    EXPECT_NEAR(losses[1], loss_of(file("b")), 1e-6);
    EXPECT_NE(losses[0], losses[1]);
    EXPECT_NEAR(weights[0], 1 / (1 + std::exp(losses[0] - losses[1])), 2e-6);
    EXPECT_NEAR(weights[0] + weights[1], 1, 2e-6);
}

TEST_F(AveragesTest, ModelsThatDifferAreRefusedByTheDifference) {
    train("wide", "", 1, "words.txt", "layers = 2\nwidth = 64\n");
    train("deep", "", 1, "words.txt", "layers = 3\nwidth = 32\n");
    write("p.txt", syllables("aei"));
    write("q.txt", syllables("ouy"));
    train("pieces", "", 1, "p.txt", "layers = 2\nwidth = 32\n", "bpe:300");
    train("others", "", 1, "q.txt", "layers = 2\nwidth = 32\n", "bpe:300");
    const auto refused = [&](const std::string& one,
                             const std::string& other,
                             const std::string& difference) {
        for (const char* const verb : {"average", "soup"}) {
            std::vector<std::string> words{
                "stack", verb, file(one), file(other), "-o", file("out")};
            if (verb == std::string("soup")) {
                words.insert(words.end(), {"--text", file("held.txt")});
            }
            expect_refused(words, file(one) + " and " + file(other) + " differ in ", difference);
        }
    };
    refused("a", "wide", "width: 32 and 64");
    refused("a", "deep", "layers: 2 and 3");
    refused("a", "pieces", "vocabulary: 256 and 300");
    refused("pieces", "others", "the tokens of their tokenizers");
}

TEST_F(AveragesTest, InputsThatCannotBeUsedAreOneLine) {
    const std::string a = file("a");
    const std::string b = file("b");
    const std::string to = file("out");
    expect_refused({"stack", "average", a, file("none"), "-o", to}, file("none"), "");
    expect_refused({"stack", "average", a, file("words.txt"), "-o", to}, "words.txt", "neither");
    expect_refused({"stack", "average", a, b, "--weights", "0,0", "-o", to}, "weights", "above 0");
    expect_refused(
        {"stack", "soup", a, b, "-o", to, "--text", file("none.txt")}, "none.txt", "cannot read"
    );
    write("empty.txt", "");
    expect_refused(
        {"stack", "soup", a, b, "-o", to, "--text", file("empty.txt")}, "empty.txt", "empty"
    );
    write("one.txt", "x");
    expect_refused(
        {"stack", "average", a, b, "-o", to, "--by", "loss", "--text", file("one.txt")},
        "one.txt",
        "too short"
    );
    expect_refused({"stack", "average", a, b, "-o", b}, b + " has files", "another folder");
    expect_refused({"stack", "average", a, b, "-o", file("one.txt")}, "is a file", "one.txt");
}

TEST_F(AveragesTest, ASearchFindsWhatMeasureConfirms) {
    const std::string stack = file("three.toml");
    ASSERT_EQ(
        run(
            {"stack",
             "new",
             stack,
             "--member",
             file("base"),
             "--member",
             file("a"),
             "--member",
             file("b")}
        ),
        0
    ) << err;
    const std::string best = file("best/two.toml");
    fs::create_directories(file("best"));
    ASSERT_EQ(run({"stack", "search", stack, "--text", file("held.txt"), "-o", best}), 0) << err;
    std::istringstream lines(out);
    std::string line;
    std::getline(lines, line);
    EXPECT_EQ(line, "7 tries, nats per token:");
    double found = 0;
    lines >> found;
    ASSERT_EQ(run({"stack", "measure", best, "--text", file("held.txt"), "--window", "64"}), 0)
        << err;
    const std::size_t stack_line = out.find("  the stack");
    ASSERT_NE(stack_line, std::string::npos) << out;
    EXPECT_NEAR(std::stod(out.substr(stack_line - 8, 8)), found, 1e-3) << out;
    EXPECT_EQ(run({"stack", "search", stack, "--text", file("held.txt"), "-o", best}), kRefused);
}

TEST_F(AveragesTest, AFullDiskLeavesNothing) {
    const std::string command = "ulimit -f 16; exec " + program_dir() + "/swarm stack average " +
                                file("a") + " " + file("b") + " -o " + file("out") + " 2> " +
                                file("err") + " > " + file("said");
    const int status = std::system(("bash -c '" + command + "'").c_str());
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), kFailed);
    const std::string said = read_text(file("err"));
    EXPECT_EQ(count_lines(said), 1U) << said;
    EXPECT_NE(said.find("cannot write"), std::string::npos) << said;
    EXPECT_NE(said.find("choose another folder"), std::string::npos) << said;
    expect_nothing_at("out");
    // With room it goes on, whatever a process that was killed has left.
    fs::create_directories(file(".out.draft"));
    write(".out.draft/model.safetensors.draft", "half");
    ASSERT_EQ(average({file("a"), file("b"), "-o", file("out")}), 0) << err;
    EXPECT_FALSE(fs::exists(file(".out.draft")));
    EXPECT_GT(loss_of(file("out")), 0);
}

}  // namespace
}  // namespace swarm::test
