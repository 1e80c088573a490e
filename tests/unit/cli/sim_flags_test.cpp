#include "swarm/cli/sim/sim.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "tests/unit/cli/parsed_words.hpp"

#include <gtest/gtest.h>

namespace swarm::cli {
namespace {

using test::exit_of;
using test::joined;
using test::Words;

Words after_sim(Words words) {
    words.insert(words.begin(), "sim");
    return words;
}

template <class Options>
Options parse(const Words& words) {
    return test::options_of<Options>(after_sim(words));
}

TEST(SimFlags, AFlagThatIsNotGivenOverridesNothing) {
    const auto sim = parse<SimOptions>({"a.toml"});
    EXPECT_EQ(sim.flags.scenario, "a.toml");
    EXPECT_FALSE(sim.flags.seed);
    EXPECT_FALSE(sim.flags.mode);
    EXPECT_FALSE(sim.replay);
    EXPECT_FALSE(sim.flags.verify);
    EXPECT_TRUE(sim.flags.settings.empty());
    EXPECT_EQ(sim.seeds, 1U);
}

TEST(SimFlags, TakesSeedsModeFilesAndSettings) {
    const auto sim = parse<SimOptions>(
        {"a.toml",
         "--seed",
         "7",
         "--seeds",
         "100",
         "--mode",
         "fluid",
         "--set",
         "peers=1000",
         "--set",
         "churn.trace=a=b.csv",
         "--verify",
         "--json",
         "o.json",
         "--html",
         "o.html"}
    );
    EXPECT_EQ(sim.flags.seed, 7U);
    EXPECT_EQ(sim.seeds, 100U);
    EXPECT_EQ(sim.flags.mode, "fluid");
    const std::vector<std::pair<std::string, std::string>> settings{
        {"peers", "1000"}, {"churn.trace", "a=b.csv"}};
    EXPECT_EQ(sim.flags.settings, settings);
    EXPECT_TRUE(sim.flags.verify);
    EXPECT_EQ(sim.flags.json_file, "o.json");
    EXPECT_EQ(sim.html_file, "o.html");
}

TEST(SimFlags, SettingsAndScenarioComeInAnyOrder) {
    const auto sim = parse<SimOptions>({"--set", "peers=9", "a.toml"});
    EXPECT_EQ(sim.flags.scenario, "a.toml");
    EXPECT_EQ(sim.flags.settings.size(), 1U);
}

TEST(SimFlags, ListsWithAndWithoutAFolder) {
    EXPECT_TRUE(parse<SimOptions>({"--list"}).list);
    EXPECT_EQ(parse<SimOptions>({"--list", "here"}).flags.scenario, "here");
}

TEST(SimFlags, ReplayNamesASeed) {
    EXPECT_EQ(parse<SimOptions>({"a.toml", "--replay", "17"}).replay, 17U);
}

TEST(SimFlags, CompareTakesAListOfPolicies) {
    const auto compare =
        parse<SimCompareOptions>({"compare", "a.toml", "--policies", "iwrr,uniform", "--seed", "3"}
        );
    EXPECT_EQ(compare.flags.scenario, "a.toml");
    EXPECT_EQ(compare.policies, (std::vector<std::string>{"iwrr", "uniform"}));
    EXPECT_EQ(compare.flags.seed, 3U);
}

TEST(SimFlags, RecordTakesTwoFiles) {
    const auto record = parse<SimRecordOptions>({"record", "run.json", "-o", "a.toml"});
    EXPECT_EQ(record.run_file, "run.json");
    EXPECT_EQ(record.out_file, "a.toml");
}

TEST(SimFlags, HelpOfEachVerbShowsAnExample) {
    const std::vector<Words> all{{"--help"}, {"compare", "--help"}, {"record", "--help"}};
    for (const Words& words : all) {
        const Exit exit = exit_of(after_sim(words));
        EXPECT_EQ(exit.code, kDone);
        EXPECT_NE(exit.text.find("\n  swarm sim "), std::string::npos) << exit.text;
    }
}

TEST(SimFlags, HelpNamesTheReferenceOfScenarioKeys) {
    EXPECT_NE(exit_of({"sim", "--help"}).text.find("sim/scenarios/README.md"), std::string::npos);
}

TEST(SimFlags, AnErrorOfUsageIsOneLine) {
    const std::vector<Words> bad{
        {},
        {"a.toml", "--mode", "precise"},
        {"a.toml", "--seed", "-1"},
        {"a.toml", "--seeds", "0"},
        {"a.toml", "--set", "peers"},
        {"a.toml", "--set", "=3"},
        {"compare", "a.toml"},
        {"compare", "--policies", "iwrr"},
        {"record"}};
    for (const Words& words : bad) {
        const Exit exit = exit_of(after_sim(words));
        EXPECT_EQ(exit.code, kUsage) << joined(words);
        EXPECT_EQ(exit.text.find('\n'), exit.text.size() - 1) << exit.text;
    }
}

}  // namespace
}  // namespace swarm::cli
