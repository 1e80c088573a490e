#include "swarm/cli/model/model.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "tests/unit/cli/parsed_words.hpp"

#include <gtest/gtest.h>

namespace swarm::cli {
namespace {

using test::exit_of;
using test::joined;
using test::options_of;
using test::Words;

TEST(ModelFlags, EachVerbTakesItsArguments) {
    EXPECT_EQ(options_of<ModelFetchOptions>({"model", "fetch", "smollm2"}).name, "smollm2");
    const auto plain = options_of<ModelShowOptions>({"model", "show", "a.gguf"});
    EXPECT_EQ(plain.model, "a.gguf");
    EXPECT_EQ(plain.stages, 1U);
    EXPECT_EQ(plain.json_file, "");
    const auto show = options_of<ModelShowOptions>(
        {"model", "show", "a.gguf", "--stages", "5", "--json", "o.json"}
    );
    EXPECT_EQ(show.stages, 5U);
    EXPECT_EQ(show.json_file, "o.json");
    const auto exported = options_of<ModelExportOptions>({"model", "export", "smollm2", "folder"});
    EXPECT_EQ(exported.model, "smollm2");
    EXPECT_EQ(exported.folder, "folder");
}

TEST(ModelFlags, HelpOfEachVerbShowsAnExample) {
    for (const char* const verb : {"fetch", "show", "export"}) {
        const Exit help = exit_of({"model", verb, "--help"});
        EXPECT_EQ(help.code, kDone) << verb;
        const std::string example = std::string("\n  swarm model ") + verb + " smollm2";
        EXPECT_NE(help.text.find(example), std::string::npos) << verb;
    }
}

TEST(ModelFlags, WordsThatAreNotUnderstoodAreAUsageError) {
    const std::vector<Words> bad = {
        {"model"},
        {"model", "dance"},
        {"model", "fetch"},
        {"model", "show"},
        {"model", "show", "a.gguf", "--stages", "0"},
        {"model", "show", "a.gguf", "--stages", "65"},
        {"model", "export", "a.gguf"}};
    for (const Words& words : bad) {
        EXPECT_EQ(exit_of(words).code, kUsage) << joined(words);
    }
}

}  // namespace
}  // namespace swarm::cli
