#include "swarm/cli/sim/sim_flags.hpp"

#include "swarm/cli/exit_code.hpp"

#include <gtest/gtest.h>

namespace swarm::cli {
namespace {

Command parse(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), {"swarm", "sim"});
    return parse_command_line(static_cast<int>(arguments.size()), arguments.data());
}

TEST(SimFlags, AFlagThatIsNotGivenOverridesNothing) {
    const auto sim = std::get<SimOptions>(parse({"a.toml"}));
    EXPECT_EQ(sim.flags.scenario, "a.toml");
    EXPECT_FALSE(sim.flags.seed);
    EXPECT_FALSE(sim.flags.mode);
    EXPECT_FALSE(sim.replay);
    EXPECT_FALSE(sim.flags.verify);
    EXPECT_TRUE(sim.flags.settings.empty());
    EXPECT_EQ(sim.seeds, 1U);
}

TEST(SimFlags, TakesSeedsModeFilesAndSettings) {
    const auto sim = std::get<SimOptions>(parse(
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
    ));
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
    const auto sim = std::get<SimOptions>(parse({"--set", "peers=9", "a.toml"}));
    EXPECT_EQ(sim.flags.scenario, "a.toml");
    EXPECT_EQ(sim.flags.settings.size(), 1U);
}

TEST(SimFlags, ListsWithAndWithoutAFolder) {
    EXPECT_TRUE(std::get<SimOptions>(parse({"--list"})).list);
    EXPECT_EQ(std::get<SimOptions>(parse({"--list", "here"})).flags.scenario, "here");
}

TEST(SimFlags, ReplayNamesASeed) {
    EXPECT_EQ(std::get<SimOptions>(parse({"a.toml", "--replay", "17"})).replay, 17U);
}

TEST(SimFlags, CompareTakesAListOfPolicies) {
    const auto compare = std::get<SimCompareOptions>(
        parse({"compare", "a.toml", "--policies", "iwrr,uniform", "--seed", "3"})
    );
    EXPECT_EQ(compare.flags.scenario, "a.toml");
    EXPECT_EQ(compare.policies, (std::vector<std::string>{"iwrr", "uniform"}));
    EXPECT_EQ(compare.flags.seed, 3U);
}

TEST(SimFlags, RecordTakesTwoFiles) {
    const auto record = std::get<SimRecordOptions>(parse({"record", "run.json", "-o", "a.toml"}));
    EXPECT_EQ(record.run_file, "run.json");
    EXPECT_EQ(record.out_file, "a.toml");
}

TEST(SimFlags, HelpOfEachVerbShowsAnExample) {
    const std::vector<std::vector<const char*>> all{
        {"--help"}, {"compare", "--help"}, {"record", "--help"}};
    for (const auto& arguments : all) {
        const auto exit = std::get<Exit>(parse(arguments));
        EXPECT_EQ(exit.code, kDone);
        EXPECT_NE(exit.text.find("\n  swarm sim "), std::string::npos) << exit.text;
    }
}

TEST(SimFlags, WhatIsNotUnderstoodIsAUsageErrorOfOneLine) {
    const std::vector<std::vector<const char*>> bad{
        {},
        {"a.toml", "--mode", "precise"},
        {"a.toml", "--seed", "-1"},
        {"a.toml", "--seeds", "0"},
        {"a.toml", "--set", "peers"},
        {"a.toml", "--set", "=3"},
        {"compare", "a.toml"},
        {"compare", "--policies", "iwrr"},
        {"record"}};
    for (const auto& arguments : bad) {
        const Command command = parse(arguments);
        ASSERT_TRUE(std::holds_alternative<Exit>(command))
            << (arguments.empty() ? "nothing" : arguments.back());
        const auto& exit = std::get<Exit>(command);
        EXPECT_EQ(exit.code, kUsage) << exit.text;
        EXPECT_EQ(exit.text.find('\n'), exit.text.size() - 1) << exit.text;
    }
}

}  // namespace
}  // namespace swarm::cli
