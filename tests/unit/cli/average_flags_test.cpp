#include "swarm/cli/stack/average.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "tests/unit/cli/parsed_words.hpp"

#include <gtest/gtest.h>

namespace swarm::cli {
namespace {

using test::exit_of;
using test::joined;
using test::options_of;
using test::Words;

TEST(AverageFlags, TakeModelsAndWeights) {
    const auto plain =
        options_of<StackAverageOptions>({"stack", "average", "a", "b", "c", "-o", "out"});
    EXPECT_EQ(plain.models, (Words{"a", "b", "c"}));
    EXPECT_EQ(plain.folder, "out");
    EXPECT_EQ(plain.by, "uniform");
    EXPECT_TRUE(plain.weights.empty());
    const auto weighted = options_of<StackAverageOptions>(
        {"stack", "average", "--weights", "0.25,0.75", "a", "--out", "out", "b"}
    );
    EXPECT_EQ(weighted.models, (Words{"a", "b"}));
    EXPECT_EQ(weighted.weights, (std::vector{0.25, 0.75}));
    const auto by_loss = options_of<StackAverageOptions>(
        {"stack", "average", "a", "b", "-o", "out", "--by", "loss", "--text", "t", "--text", "u"}
    );
    EXPECT_EQ(by_loss.by, "loss");
    EXPECT_EQ(by_loss.held_out.texts, (Words{"t", "u"}));
    EXPECT_EQ(by_loss.held_out.tokens, 4096U);
    const auto by_fisher = options_of<StackAverageOptions>(
        {"stack",
         "average",
         "a",
         "b",
         "-o",
         "out",
         "--by",
         "fisher",
         "--text",
         "t",
         "--tokens",
         "65536",
         "--threads",
         "2"}
    );
    EXPECT_EQ(by_fisher.by, "fisher");
    EXPECT_EQ(by_fisher.held_out.texts, Words{"t"});
    EXPECT_EQ(by_fisher.held_out.tokens, 65536U);
    EXPECT_EQ(by_fisher.held_out.threads, 2U);
}

TEST(AverageFlags, ASoupTakesModelsAndTexts) {
    const auto soup = options_of<StackSoupOptions>(
        {"stack", "soup", "a", "b", "-o", "out", "--text", "t", "--tokens", "99", "--threads", "2"}
    );
    EXPECT_EQ(soup.models, (Words{"a", "b"}));
    EXPECT_EQ(soup.held_out.texts, Words{"t"});
    EXPECT_EQ(soup.held_out.tokens, 99U);
    EXPECT_EQ(soup.held_out.threads, 2U);
}

TEST(AverageFlags, HelpSaysHowWeightsAreMade) {
    const Exit average = exit_of({"stack", "average", "--help"});
    EXPECT_EQ(average.code, kDone);
    EXPECT_NE(average.text.find("\n  swarm stack average base tuned -o"), std::string::npos);
    EXPECT_NE(average.text.find("softmax of minus the loss"), std::string::npos);
    EXPECT_NE(average.text.find("nats"), std::string::npos);
    EXPECT_NE(average.text.find("--by fisher --text held-out"), std::string::npos);
    EXPECT_NE(average.text.find("windows of 256 tokens"), std::string::npos);
    const Exit soup = exit_of({"stack", "soup", "--help"});
    EXPECT_EQ(soup.code, kDone);
    EXPECT_NE(soup.text.find("\n  swarm stack soup runs/a runs/b"), std::string::npos);
}

TEST(AverageFlags, WordsThatAreNotUnderstoodAreAUsageError) {
    const Words average{"stack", "average", "a", "b", "-o", "out"};
    const Words soup{"stack", "soup", "a", "b", "-o", "out"};
    const auto with = [](Words words, const Words& more) {
        words.insert(words.end(), more.begin(), more.end());
        return words;
    };
    Words crowd{"stack", "average", "-o", "out"};
    crowd.resize(crowd.size() + 65, "a");
    const std::vector<Words> bad = {
        {"stack", "average", "a", "-o", "out"},
        {"stack", "average", "a", "b"},
        with(average, {"--weights", "1"}),
        with(average, {"--weights", "1,2,3"}),
        with(average, {"--weights", "1,nan"}),
        with(average, {"--weights", "1,inf"}),
        with(average, {"--weights=-1,2"}),
        with(average, {"--weights", "1,x"}),
        with(average, {"--by", "size"}),
        with(average, {"--by", "loss"}),
        with(average, {"--text", "t"}),
        with(average, {"--by", "loss", "--text", "t", "--weights", "1,2"}),
        with(average, {"--by", "fisher"}),
        with(average, {"--by", "fisher", "--text", "t", "--weights", "1,2"}),
        crowd,
        soup,
        with(soup, {"--text", "t", "--tokens", "1"}),
        {"stack", "soup", "a", "-o", "out", "--text", "t"}};
    for (const Words& words : bad) {
        EXPECT_EQ(exit_of(words).code, kUsage) << joined(words);
    }
}

}  // namespace
}  // namespace swarm::cli
