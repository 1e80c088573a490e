#include "swarm/cli/manual/manual.hpp"

#include "tests/unit/cli/parsed_words.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

namespace swarm::cli {
namespace {

using test::exit_of;
using test::options_of;

VerbText described() {
    return options_of<ManualOptions>({"manual", "share"}).swarm;
}

const VerbText& find(const VerbText& verb, const std::string& name) {
    const auto found = std::ranges::find(verb.verbs, name, &VerbText::name);
    EXPECT_NE(found, verb.verbs.end()) << name;
    return *found;
}

TEST(Manual, DescribesEachVerbThatTheHelpLists) {
    const VerbText swarm = described();
    EXPECT_EQ(swarm.name, "swarm");
    const std::string help = exit_of({"--help"}).text;
    EXPECT_GE(swarm.verbs.size(), 11U);
    for (const VerbText& verb : swarm.verbs) {
        EXPECT_NE(help.find("\n  " + verb.name.substr(6)), std::string::npos) << verb.name;
        EXPECT_NE(help.find(verb.meaning), std::string::npos) << verb.name;
    }
    EXPECT_EQ(find(find(swarm, "swarm sim"), "swarm sim compare").verbs.size(), 0U);
}

TEST(Manual, HasNamesValuesAndChoicesOfFlags) {
    const VerbText swarm = described();
    const VerbText& serve = find(swarm, "swarm serve");
    const auto weights = std::ranges::find(serve.flags, "--weights", &FlagText::names);
    ASSERT_NE(weights, serve.flags.end());
    EXPECT_EQ(weights->choices, (std::vector<std::string>{"as-is", "fp32", "bf16", "int8"}));
    EXPECT_NE(weights->meaning.find("(default: as-is)"), std::string::npos) << weights->meaning;
    const auto join = std::ranges::find(serve.flags, "--join", &FlagText::names);
    ASSERT_NE(join, serve.flags.end());
    EXPECT_EQ(join->value, "[NAME@]HOST[:PORT]");
    const auto seats = std::ranges::find(serve.flags, "--host", &FlagText::names);
    ASSERT_NE(seats, serve.flags.end());
    EXPECT_EQ(seats->value, "UINT");  // the help has its limits, too
    const VerbText& sim = find(swarm, "swarm sim");
    const auto scenario = std::ranges::find(sim.flags, "scenario", &FlagText::names);
    ASSERT_NE(scenario, sim.flags.end());
    EXPECT_TRUE(scenario->is_word);
    EXPECT_NE(serve.examples.find("swarm serve --join"), std::string::npos);
    EXPECT_EQ(serve.examples.find("exit codes"), std::string::npos);
    EXPECT_NE(serve.exit_codes.find("exit codes: 0 done"), std::string::npos);
}

/// Expects requests and text lines that man(7) reads as they are meant.
void expect_sound(const VerbText& verb) {
    const std::vector<std::string> requests{".TH", ".SH", ".TP", ".B", ".nf", ".fi"};
    std::istringstream page(manual_page(verb));
    std::string line;
    while (std::getline(page, line)) {
        EXPECT_FALSE(line.starts_with("'")) << verb.name << ": " << line;
        if (line.starts_with(".")) {
            const std::string request = line.substr(0, line.find(' '));
            EXPECT_TRUE(std::ranges::find(requests, request) != requests.end()) << line;
        }
    }
    for (const VerbText& below : verb.verbs) {
        expect_sound(below);
    }
}

TEST(Manual, PagesAreSound) {
    expect_sound(described());
    const VerbText odd{"swarm odd", ".begins with a dot", {{"-o,--out", "FILE", "a\\b - 'c'"}}};
    const std::string page = manual_page(odd);
    EXPECT_NE(
        page.find(".TP\n\\fB\\-o,\\-\\-out\\fR \\fIFILE\\fR\na\\eb \\- 'c'\n"), std::string::npos
    ) << page;
    expect_sound(odd);
}

TEST(Manual, APageHasEachFlagItsExamplesAndTheExitCodes) {
    const VerbText swarm = described();
    const std::string page = manual_page(find(swarm, "swarm train"));
    EXPECT_TRUE(page.starts_with(".TH SWARM\\-TRAIN 1 ")) << page.substr(0, 60);
    for (const char* text :
         {".SH NAME\nswarm\\-train \\- ",
          "\\-\\-resume",
          ".SH EXAMPLES\n.nf\nexamples:",
          "141 and 143"}) {
        EXPECT_NE(page.find(text), std::string::npos) << text;
    }
    EXPECT_EQ(page.find("reports\\-fd"), std::string::npos);  // not for people
}

}  // namespace
}  // namespace swarm::cli
