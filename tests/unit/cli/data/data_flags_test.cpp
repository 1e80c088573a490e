#include "swarm/cli/data/data.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "tests/unit/cli/parsed_words.hpp"

#include <gtest/gtest.h>

namespace swarm::cli {
namespace {

using test::exit_of;
using test::joined;
using test::options_of;
using test::Words;

TEST(DataFlags, EachVerbTakesItsArguments) {
    const auto build = options_of<DataBuildOptions>(
        {"data", "build", "data.toml", "-o", "books", "--json", "out.json"}
    );
    EXPECT_EQ(build.data_file, "data.toml");
    EXPECT_EQ(build.folder, "books");
    EXPECT_EQ(build.json_file, "out.json");
    const auto show =
        options_of<DataShowOptions>({"data", "show", "books", "--check", "--fits", "smollm2"});
    EXPECT_EQ(show.folder, "books");
    EXPECT_TRUE(show.check);
    EXPECT_EQ(show.model, "smollm2");
    const auto plain = options_of<DataSampleOptions>({"data", "sample", "books"});
    EXPECT_EQ(plain.samples, 1U);
    EXPECT_EQ(plain.context, 256U);
    const auto sample = options_of<DataSampleOptions>(
        {"data", "sample", "books", "-n", "3", "--from", "7", "--context", "64", "--seed", "9"}
    );
    EXPECT_EQ(sample.samples, 3U);
    EXPECT_EQ(sample.from, 7U);
    EXPECT_EQ(sample.context, 64U);
    EXPECT_EQ(sample.seed, 9U);
}

TEST(DataFlags, HelpOfEachVerbShowsAnExample) {
    for (const char* const verb : {"build", "show", "sample"}) {
        const Exit help = exit_of({"data", verb, "--help"});
        EXPECT_EQ(help.code, kDone) << verb;
        const std::string example = std::string("\n  swarm data ") + verb + " ";
        EXPECT_NE(help.text.find(example), std::string::npos) << verb;
    }
}

TEST(DataFlags, WordsThatAreNotUnderstoodAreAUsageError) {
    for (const Words& words : {
             Words{"data"},
             Words{"data", "build"},
             Words{"data", "build", "data.toml"},
             Words{"data", "show"},
             Words{"data", "sample", "books", "-n", "0"},
             Words{"data", "sample", "books", "--context", "0"},
             Words{"data", "sample", "books", "--from", "-1"},
         }) {
        EXPECT_EQ(exit_of(words).code, kUsage) << joined(words);
    }
}

}  // namespace
}  // namespace swarm::cli
