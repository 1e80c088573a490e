// Runs `swarm stack average --by fisher` like a person, on runs that began with one model.
#include "tests/process/averages/averages_bed.hpp"

#include <sstream>

namespace swarm::test {
namespace {

class FisherTest : public StackBed {
 protected:
    /// The uses of a tied matrix add up before they are squared.
    void SetUp() override { train_three(std::string(kTwoLayers) + "tied_embeddings = true\n"); }

    int by_fisher(const std::vector<std::string>& models, const std::string& to) {
        std::vector<std::string> words{"stack", "average"};
        words.insert(words.end(), models.begin(), models.end());
        words.insert(words.end(), {"-o", file(to), "--by", "fisher", "--text", file("held.txt")});
        return run(words);
    }

    [[nodiscard]] std::string weights_of(const std::string& name) const {
        return read_text(file(name) + "/model.safetensors");
    }
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
        expect_refused(
            {"stack",
             "average",
             file("a"),
             file("b"),
             "-o",
             file("out"),
             "--by",
             "fisher",
             "--text",
             file(text)},
            what,
            ""
        );
    };
    refused("none.txt", "none.txt");
    write("one.txt", "x");
    refused("one.txt", "too short");
}

}  // namespace
}  // namespace swarm::test
