// Runs `swarm stack mix` and `join` like a person, on runs that began with one model, and trains
// what they make.
#include "tests/process/averages/averages_bed.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace swarm::test {
namespace {

class MixTest : public AveragesBed {
 protected:
    int mix(std::vector<std::string> more) {
        more.insert(more.begin(), {"stack", "mix"});
        return run(more);
    }

    /// The text that the model goes on with.
    std::string answer_of(const std::string& model) {
        EXPECT_EQ(
            run({"generate", "--model", file(model), "--raw", "--tokens", "24", "it is a "}), 0
        ) << err;
        return out;
    }
};

TEST_F(MixTest, OneMemberStaysThatMember) {
    ASSERT_EQ(mix({file("a"), "--top", "1", "-o", file("one")}), 0) << err;
    EXPECT_EQ(out, file("one") + "\n");
    EXPECT_EQ(loss_of(file("one")), loss_of(file("a")));
    EXPECT_EQ(answer_of("one"), answer_of("a"));
}

TEST_F(MixTest, AMixtureIsTrainedAndServedLikeAnyModel) {
    ASSERT_EQ(mix({file("a"), file("b"), "-o", file("mixed")}), 0) << err;
    ASSERT_EQ(run({"model", "show", file("mixed")}), 0) << err;
    EXPECT_NE(out.find("mixtral"), std::string::npos) << out;
    EXPECT_NE(out.find("2 of 2 experts"), std::string::npos) << out;
    const double before = loss_of(file("mixed"));
    write("both.txt", read_text(file("a.txt")) + read_text(file("b.txt")));
    write(
        "tuned.toml",
        "[run]\nname = \"tuned\"\nstages = 2\nsteps = 30\nmicrobatches = 4\nbatch = 4\n"
        "corpus = \"both.txt\"\ninit = \"mixed\"\n[model]\ncontext = 64\n"
        "[optimizer]\nlearning_rate = 0.01\nwarmup_steps = 0\n"
    );
    ASSERT_EQ(run({"train", "--single", file("tuned.toml"), "--dir", file("tuned")}), 0) << err;
    EXPECT_LT(loss_of(file("tuned")), before);
    // The same with the experts of each layer in two stages.
    ASSERT_EQ(
        run(
            {"train",
             "--single",
             file("tuned.toml"),
             "--dir",
             file("parts"),
             "--stages",
             "4",
             "--set",
             "run.expert_stages=2"}
        ),
        0
    ) << err;
    EXPECT_EQ(loss_of(file("parts")), loss_of(file("tuned")));
    EXPECT_EQ(answer_of("parts"), answer_of("tuned"));
    ASSERT_EQ(run({"model", "export", file("parts"), file("exported")}), 0) << err;
    EXPECT_EQ(loss_of(file("exported")), loss_of(file("tuned")));
    EXPECT_EQ(answer_of("exported"), answer_of("tuned"));
    // A model with experts is no member of another mixture.
    expect_refused(
        {"stack", "mix", file("tuned"), "--top", "1", "-o", file("out")}, "mixtral", "llama"
    );
}

TEST_F(MixTest, MembersOfQwen3AreMixedIntoAQwen3Moe) {
    const std::string shape = "layers = 2\nwidth = 32\n";
    train("q", "", 20, "words.txt", "kind = \"qwen3\"\n" + shape);
    ASSERT_EQ(mix({file("q"), "--top", "1", "-o", file("one")}), 0) << err;
    EXPECT_EQ(loss_of(file("one")), loss_of(file("q")));
    ASSERT_EQ(mix({file("q"), "--copies", "3", "-o", file("mixed")}), 0) << err;
    ASSERT_EQ(run({"model", "show", file("mixed")}), 0) << err;
    EXPECT_NE(out.find("qwen3_moe"), std::string::npos) << out;
    EXPECT_NE(out.find("2 of 3 experts"), std::string::npos) << out;
    train("tuned", "mixed", 10, "b.txt");
    ASSERT_EQ(run({"model", "export", file("tuned"), file("exported")}), 0) << err;
    EXPECT_EQ(loss_of(file("exported")), loss_of(file("tuned")));
    train("q2", "", 1, "words.txt", "kind = \"qwen2\"\n" + shape);
    expect_refused({"stack", "mix", file("q2"), "--top", "1", "-o", file("out")}, "qwen2_moe", "");
}

TEST_F(MixTest, AJoinedChainIsOneModelThatComputesTheSame) {
    const std::string chain = file("chain.toml");
    ASSERT_EQ(
        run(
            {"stack",
             "new",
             chain,
             "--mode",
             "chain",
             "--member",
             file("a"),
             "--member",
             file("b") + "@1-1"}
        ),
        0
    ) << err;
    ASSERT_EQ(run({"stack", "join", chain, "-o", file("joined")}), 0) << err;
    EXPECT_EQ(out, file("joined") + "\n");
    ASSERT_EQ(run({"model", "show", file("joined")}), 0) << err;
    EXPECT_NE(out.find("3 layers"), std::string::npos) << out;
    const std::vector<std::string> words{"--raw", "--tokens", "24", "it is a "};
    std::vector<std::string> asked{"generate", "--stack", chain};
    asked.insert(asked.end(), words.begin(), words.end());
    ASSERT_EQ(run(asked), 0) << err;
    const std::string text = out;
    EXPECT_EQ(answer_of("joined"), text);
    // A chain that is cut from one model is that model.
    ASSERT_EQ(
        run(
            {"stack",
             "new",
             file("cut.toml"),
             "--mode",
             "chain",
             "--member",
             file("a") + "@0-0",
             "--member",
             file("a") + "@1-1"}
        ),
        0
    ) << err;
    ASSERT_EQ(run({"stack", "join", file("cut.toml"), "-o", file("whole")}), 0) << err;
    ASSERT_EQ(run({"model", "export", file("a"), file("exported")}), 0) << err;
    expect_same_folder("exported", "whole");
    ASSERT_EQ(
        run({"stack", "new", file("two.toml"), "--member", file("a"), "--member", file("b")}), 0
    ) << err;
    expect_refused({"stack", "join", file("two.toml"), "-o", file("out")}, "two.toml", "no chain");
}

TEST_F(MixTest, InputsThatCannotBeUsedAreOneLine) {
    const std::string a = file("a");
    const std::string to = file("out");
    train("wide", "", 1, "words.txt", "layers = 2\nwidth = 64\n");
    expect_refused({"stack", "mix", a, file("wide"), "-o", to}, "differ in", "width: 32 and 64");
    expect_refused({"stack", "mix", a, file("none"), "--copies", "2", "-o", to}, file("none"), "");
    expect_refused(
        {"stack", "mix", a, "-o", to, "--copies", "1024"}, "1024 experts", "too many tensors"
    );
    EXPECT_NE(mix({a, file("b"), "--top", "3", "-o", to}), 0);
    EXPECT_NE(err.find("more than there are experts"), std::string::npos) << err;
    expect_nothing_at("out");
}

}  // namespace
}  // namespace swarm::test
