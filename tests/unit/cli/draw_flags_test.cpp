#include "swarm/cli/generate/generate.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "tests/unit/cli/parsed_words.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace swarm::cli {
namespace {

using test::exit_of;
using test::joined;
using test::options_of;
using test::Words;

TEST(DrawFlags, BoundsOfTheDrawAreBoundedThemselves) {
    const Words given{
        "generate", "--model", "m", "--temperature", "1", "--top-p", "0.9", "--top-k", "40", "Hi"};
    EXPECT_EQ(options_of<GenerateOptions>(given).top_p, 0.9);
    EXPECT_EQ(options_of<GenerateOptions>(given).top_k, 40U);
    for (const Words& flag : std::vector<Words>{
             {"--top-p", "nan"},
             {"--top-p", "0"},
             {"--top-p", "1.01"},
             {"--top-k", "0"},
             {"--top-k", "65"},
             {"--top-k", "-1"}}) {
        Words words{"generate", "--model", "m", "--temperature", "1", "Hi"};
        words.insert(words.end(), flag.begin(), flag.end());
        EXPECT_EQ(exit_of(words).code, kUsage) << joined(words);
    }
    EXPECT_EQ(exit_of({"generate", "--model", "m", "--top-k", "5", "Hi"}).code, kUsage)
        << "without a temperature nothing is drawn";
}

TEST(DrawFlags, PenaltiesAndBiasesAreForThePeersOfAModel) {
    const Words asked{"generate", "--model", "m", "--join", "h:1", "Hi"};
    const auto with = [&](const Words& more) {
        Words words = asked;
        words.insert(words.end(), more.begin(), more.end());
        return words;
    };
    const auto options = options_of<GenerateOptions>(with(
        {"--repetition-penalty",
         "1.2",
         "--presence-penalty",
         "-0.5",
         "--frequency-penalty",
         "0.25",
         "--temperature",
         "1",
         "--min-p",
         "0.1",
         "--logit-bias",
         "42:-100,7:2.5"}
    ));
    EXPECT_EQ(options.repetition_penalty, 1.2);
    EXPECT_EQ(options.presence_penalty, -0.5);
    EXPECT_EQ(options.frequency_penalty, 0.25);
    EXPECT_EQ(options.min_p, 0.1);
    EXPECT_EQ(options.biases, (std::vector<protocol::TokenBias>{{42, -100}, {7, 2.5}}));
    for (const Words& more : std::vector<Words>{
             {"--logit-bias", "42"},
             {"--logit-bias", "-1:2"},
             {"--logit-bias", "1:nan"},
             {"--logit-bias", "1:101"},
             {"--logit-bias", "1:2x"},
             {"--min-p", "0.1"},  // without a temperature
             {"--repetition-penalty", "-1"},
             {"--frequency-penalty", "nan"}}) {
        EXPECT_EQ(exit_of(with(more)).code, kUsage) << joined(with(more));
    }
    EXPECT_EQ(exit_of({"generate", "--model", "m", "--repetition-penalty", "2", "Hi"}).code, kUsage)
        << "without peers";
}

}  // namespace
}  // namespace swarm::cli
